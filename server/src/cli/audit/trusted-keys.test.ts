import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readKeySets, trustedKeysOf } from './trusted-keys.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'trusted-keys-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
function file(value: unknown): string {
  const path = join(folder, `${files++}.json`)
  writeFileSync(path, JSON.stringify(value))
  return path
}

const ed25519 = () => generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
const own = { ...ed25519(), kid: 'own', alg: 'EdDSA', use: 'sig' }
const FOREIGN = [
  { ...generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' }), kid: 'rsa' },
  { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid: 'ec' },
  { ...generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }), kid: 'x25519' },
  { kty: 'OKP', crv: 'Ed25519', kid: 'short', x: 'AAAA' },
  'no key',
]

it('passes over keys that it has no use for, as RFC 7517 says', async () => {
  const bare = ed25519()
  const keySet = await readKeySets([file({ keys: [...FOREIGN, own], issuer: 'somebody' }), file({ keys: [bare, own] })])
  expect(keySet.keys).toEqual([own, { ...bare, kid: '', alg: 'EdDSA', use: 'sig' }])
  expect(trustedKeysOf(keySet).publicKeys.map(({ length }) => length)).toEqual([32, 32])
})

it('keeps both of two keys that have one name', async () => {
  const other = { ...own, ...ed25519() }
  expect((await readKeySets([file({ keys: [own] }), file({ keys: [other] })])).keys).toEqual([own, other])
})

it('refuses a set without a key of use, and says where there is one', async () => {
  for (const keys of [[], FOREIGN])
    await expect(readKeySets([file({ keys: [own] }), file({ keys })])).rejects.toMatchObject({
      exitCode: 64,
      message: expect.stringMatching(/\.json has no Ed25519 key\. .*\/\.well-known\/jwks\.json/),
    })
})
