/** Merkle proofs of audit entries, as somebody checks them who has nothing but the answers and the key set. */
import { createPublicKey, verify } from 'node:crypto'
import {
  leafHash,
  leafHashOfText,
  parseCheckpoint,
  parseNote,
  parseProofFile,
  parseVerifierKey,
  verifyConsistency,
  verifyInclusion,
  verifyNote,
} from '@countersign/audit-log'
import type { Checkpoints, ConsistencyProof, DecisionProof, InclusionProof } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { createPolicy, decide, makeKey, succeed } from './refunds.js'

const ISSUER = 'https://decide.example/team a+b'
const PLACE = 'decide.example/team%20a%2Bb'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0, issuer: ISSUER } })
  await createPolicy(server, { name: 'all', rules: [{ action: 'mail.*', effect: 'allow' }] })
})
afterAll(() => server.stop())

const bytes = (text: string, encoding: 'base64' | 'base64url' = 'base64') => new Uint8Array(Buffer.from(text, encoding))
const checkpoints = (): Promise<Checkpoints> => succeed(server.call('GET', '/v1/audit/checkpoints'))
const proofOf = (id: string): Promise<DecisionProof> => succeed(server.call('GET', `/v1/audit/proof?decision_id=${id}`))
const decideOnce = async (): Promise<string> => (await decide(server, { agent_id: 'agent:a', action: 'mail.send' })).id

async function decideMany(count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) ids.push(...(await Promise.all(Array.from({ length: 50 }, decideOnce))))
  return ids
}

/** The checkpoint of a note that a key of the published key set has signed. */
async function verified(note: string) {
  const parsed = parseNote(note)
  const checkpoint = parseCheckpoint(parsed.text)
  const { keys } = await succeed(server.call('GET', '/.well-known/jwks.json', { key: null }))
  const known = keys.map(({ x }: { x: string }) => {
    return { name: checkpoint.origin, type: 1 as const, publicKey: bytes(x, 'base64url') }
  })
  await verifyNote(parsed, known, (publicKey, message, signature) => {
    const x = Buffer.from(publicKey).toString('base64url')
    return verify(null, message, createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } }), signature)
  })
  return checkpoint
}

async function expectIncluded(leaf: Uint8Array, { index, path, checkpoint, proof }: InclusionProof): Promise<string> {
  const { origin, size, root } = await verified(checkpoint)
  verifyInclusion({ leaf, index, size, proof: path.map((hash) => bytes(hash)) }, root)
  const file = parseProofFile(proof)
  expect(file).toEqual({ index, proof: path.map((hash) => bytes(hash)), checkpoint })
  return origin
}

/** Every entry is under a checkpoint of its log, and that one under a checkpoint of the root log. */
async function expectProved({ data }: DecisionProof): Promise<void> {
  for (const { entry, inclusion, checkpoint_inclusion } of data) {
    expect(inclusion).not.toBeNull()
    const own = inclusion as InclusionProof
    expect(own.index).toBe(entry.index)
    expect(await expectIncluded(bytes(leafHash(entry), 'base64url'), own)).toBe(`${PLACE}/log/${entry.log}`)
    const above = await expectIncluded(leafHashOfText(own.checkpoint), checkpoint_inclusion as InclusionProof)
    expect(above).toBe(`${PLACE}/root`)
  }
}

/** Each checkpoint goes on from the one before, that of the root log, too. */
async function expectConsistent(before: Checkpoints): Promise<void> {
  for (const { log, size, root } of [
    ...before.data,
    { log: null, ...(before.root as { size: number; root: string }) },
  ]) {
    const query = log === null ? '' : `&log=${log}`
    const found: ConsistencyProof = await succeed(server.call('GET', `/v1/audit/consistency?from=${size}${query}`))
    const second = await verified(found.checkpoint)
    const path = found.path.map((hash) => bytes(hash))
    verifyConsistency({ size, root: bytes(root) }, second, path)
  }
}

describe('GET /v1/audit/proof 200', () => {
  it('proves every entry of a decision that was just made and confirmed, the oldest first', async () => {
    const id = await decideOnce()
    await succeed(server.call('POST', `/v1/decisions/${id}/confirm`, { body: {} }))
    const proof = await proofOf(id)
    expect(proof.data.map(({ entry }) => entry.type)).toEqual(['decision.created', 'decision.confirmed'])
    await expectProved(proof)
  })

  it('proves entries of a log of several blocks, over restarts, by checkpoints that go on from each other', async () => {
    const first = await decideMany(50)
    await proofOf(first[0] as string)
    const early = await checkpoints()
    const more = await decideMany(650)
    for (const id of [first[0], first[49], more[0], more[220], more[470], more[649]])
      await expectProved(await proofOf(id as string))
    await expectConsistent(early)
    const before = await checkpoints()
    server = await server.restart()
    const last = await decideOnce()
    for (const id of [first[7], more[300], last]) await expectProved(await proofOf(id as string))
    await expectConsistent(early)
    await expectConsistent(before)
    const after = await checkpoints()
    expect(after.root?.size).toBeGreaterThan(before.root?.size as number)
  })
})

describe('GET /v1/audit/checkpoints 200', () => {
  it('has a checkpoint of each log and of the root log soon after an entry, with the keys that verify them', async () => {
    const before = (await checkpoints()).data.reduce((sum, { size }) => sum + size, 0)
    await decideOnce()
    const found = await until('a checkpoint of the entry', async () => {
      const now = await checkpoints()
      return now.data.reduce((sum, { size }) => sum + size, 0) > before ? now : undefined
    })
    for (const { note, origin, size, root, verifier_keys } of [
      ...found.data,
      found.root as NonNullable<Checkpoints['root']>,
    ]) {
      expect(await verified(note)).toEqual({ origin, size, root: bytes(root) })
      const signer = parseNote(note).signatures[0]?.keyId
      expect(verifier_keys.map((key) => parseVerifierKey(key).name)).toContain(origin)
      const ids = verifier_keys.map((key) => key.slice(origin.length + 1, origin.length + 9))
      expect(ids).toContain(Buffer.from(signer as Uint8Array).toString('hex'))
    }
  })
})

describe('the proofs of the audit log', () => {
  it.each([
    ['/v1/audit/proof?decision_id=dec_01kagx1v5ne8sr6w1y6gqk4t2h', 404, 'not_found'],
    ['/v1/audit/consistency?from=0&log=none', 404, 'not_found'],
    ['/v1/audit/consistency?from=0&log=__proto__', 404, 'not_found'],
    ['/v1/audit/consistency?from=1000000', 400, 'validation_failed'],
    ['/v1/audit/proof', 400, 'validation_failed'],
    ['/v1/audit/consistency?from=-1', 400, 'validation_failed'],
    ['/v1/audit/consistency?from=', 400, 'validation_failed'],
    ['/v1/audit?decision_id=dec_01kagx1v5ne8sr6w1y6gqk4t2h&subject=key_1', 400, 'validation_failed'],
  ])('are refused for %s', async (path, status, code) => {
    const errors = [{ pointer: expect.stringMatching(/^\/\w+$/), detail: expect.any(String) }]
    const body = code === 'validation_failed' ? { code, errors } : { code }
    expect(await server.call('GET', path)).toMatchObject({ status, body })
  })

  it.each(['checkpoints', 'consistency?from=0', 'proof?decision_id=dec_01kagx1v5ne8sr6w1y6gqk4t2h'])(
    'need audit:read: %s',
    async (path) => {
      const { key } = await makeKey(server, ['decisions:read'])
      expect(await server.call('GET', `/v1/audit/${path}`, { key })).toMatchObject({ status: 403 })
    },
  )
})
