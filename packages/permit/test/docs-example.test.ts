import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mintPermitSync, PERMIT_ERROR_CODES, type PermitClaims, requestHash } from '@countersign/permit'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { claims, key, keySet } from './permit-fixture.js'

const docs = await readFile(new URL('../../../docs/permits.md', import.meta.url), 'utf8')
let server: Server
let issuer: string

beforeAll(async () => {
  server = createServer((_, res) => res.setHeader('content-type', 'application/json').end(JSON.stringify(keySet)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  vi.stubEnv('COUNTERSIGN_URL', issuer)
})

afterAll(async () => {
  vi.unstubAllEnvs()
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

/** The examples run by the clock of the machine. */
function mintNow(changes: Partial<PermitClaims> = {}): string {
  const iat = Math.floor(Date.now() / 1000)
  return mintPermitSync(key, { ...claims, iss: issuer, aud: issuer, iat, exp: iat + 300, ...changes })
}

test('every TypeScript block of docs/permits.md is one of the files that are checked and run here', async () => {
  const blocks = [...docs.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  const files = ['docs/verify-offline.ts', 'docs/verify-with-jose.ts']
  expect(blocks).toEqual(await Promise.all(files.map((file) => readFile(new URL(file, import.meta.url), 'utf8'))))
})

test('docs/permits.md explains every code of PermitError, and no other', () => {
  const explained = [...docs.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code)
  expect(explained).toEqual([...PERMIT_ERROR_CODES])
})

test('our verifier, as in the docs', async () => {
  const { refund } = await import('./docs/verify-offline.js')
  const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
  const mint = (jti: string) => mintNow({ jti, request_hash: requestHash({ ...asked, context: { amount: 42.5 } }) })
  const first = mint('dec_1')
  expect(await refund('agent:support-7', '8812', 42.5, first)).toBe('refunded 42.5 for agent:support-7, decision dec_1')
  expect(await refund('agent:support-7', '8812', 42.5, first)).toBe('refused: already_seen')
  expect(await refund('agent:support-7', '8813', 42.5, mint('dec_2'))).toBe('refused: resource_mismatch')
  expect(await refund('agent:support-8', '8812', 42.5, mint('dec_2'))).toBe('refused: agent_mismatch')
  expect(await refund('agent:support-7', '8812', 4250, mint('dec_2'))).toBe('refused: request_hash_mismatch')
})

test('plain jose, as in the docs', async () => {
  const { mayRefund } = await import('./docs/verify-with-jose.js')
  expect(await mayRefund('8812', mintNow())).toBe(true)
  expect(await mayRefund('8813', mintNow())).toBe(false)
  expect(await mayRefund('8812', mintNow({ effect: 'log' }))).toBe(false)
  await expect(mayRefund('8812', mintNow({ aud: 'https://other.example' }))).rejects.toThrow(/aud/)
})

test('the request hash of the docs is the one that we compute', async () => {
  const [, canonical = '', hash] = docs.match(/printf '%s' '(.*)' \\\n.*\n# (\S{43})\n/) ?? []
  expect(requestHash(JSON.parse(canonical))).toBe(hash)
})
