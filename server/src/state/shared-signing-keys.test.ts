import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openKeyring } from '../adapters/keyring/keyring.js'
import type { SharedSigningKey } from '../ports/replicas.js'
import type { Signer } from '../ports/signer.js'
import { permitCheck } from '../use-cases/permits/verify.js'
import { SharedSigningKeys } from './shared-signing-keys.js'

let nowMs: number
let published: Map<string, SharedSigningKey>
/** What reads of the store wait for. */
let reading: Promise<unknown>
let reads: number
let directories: string[]
beforeEach(() => {
  nowMs = Date.parse('2026-11-21T10:00:00.000Z')
  published = new Map()
  reading = Promise.resolve()
  reads = 0
  directories = []
})
afterEach(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))))

const clock = { now: () => new Date(nowMs) }
const store = {
  async publishSigningKeys(keys: readonly SharedSigningKey[]) {
    for (const key of keys) published.set(key.kid, key)
  },
  async loadSigningKeys() {
    reads += 1
    const found = [...published.values()]
    await reading
    return found
  },
}

/** A server; with the keys of a former one, if so. */
async function open(directory?: string): Promise<{ readonly keys: SharedSigningKeys; readonly directory: string }> {
  const dataDir = directory ?? (await mkdtemp(join(tmpdir(), 'countersign-keys-')))
  if (directory === undefined) directories.push(dataDir)
  return { keys: new SharedSigningKeys(await openKeyring({ dataDir, clock }), store, clock), directory: dataDir }
}

const SETTINGS = { issuer: 'https://decisions.example', audience: 'https://decisions.example' }

function permitOf(signer: Pick<Signer, 'sign'>, jti: string): Promise<string> {
  const iat = Math.floor(nowMs / 1000)
  const claims = { iss: SETTINGS.issuer, aud: SETTINGS.audience, sub: 'agent:a', iat, exp: iat + 300, jti }
  const decided = { action: 'a', resource: null, effect: 'allow', policy_id: 'pol_1', policy_revision: 1 } as const
  const audit = { log: 'log', index: 0, leaf: 'A'.repeat(43) }
  return signer.sign({ ...claims, ...decided, request_hash: 'A'.repeat(43), audit })
}

describe('a permit of a key that is not known here yet', () => {
  test('is verified however many come at once', async () => {
    const [{ keys: signs }, { keys: verifies }] = [await open(), await open()]
    const check = permitCheck(verifies, clock, SETTINGS)
    const permits = await Promise.all(['dec_1', 'dec_2', 'dec_3'].map((jti) => permitOf(signs, jti)))
    expect(await Promise.all(permits.map(check))).toEqual(['dec_1', 'dec_2', 'dec_3'])
    expect(reads).toBe(1)
  })

  test('is verified right after the store was asked for another one', async () => {
    const { keys: verifies } = await open()
    const check = permitCheck(verifies, clock, SETTINGS)
    for (const jti of ['dec_1', 'dec_2']) expect(await check(await permitOf((await open()).keys, jti))).toBe(jti)
    expect(reads).toBe(2)
  })

  test('is verified though the store is being read for another one', async () => {
    const { keys: verifies } = await open()
    const check = permitCheck(verifies, clock, SETTINGS)
    let answer = (_: unknown): void => {}
    reading = new Promise((resolve) => {
      answer = resolve
    })
    const first = check(await permitOf((await open()).keys, 'dec_1'))
    while (reads === 0) await new Promise(setImmediate)
    const second = check(await permitOf((await open()).keys, 'dec_2'))
    answer(null)
    expect(await Promise.all([first, second])).toEqual(['dec_1', 'dec_2'])
  })
})

test('a read that is late does not bring back a key that was revoked meanwhile', async () => {
  const [{ keys: signs }, { keys: verifies }] = [await open(), await open()]
  await signs.publish()
  const [revoked] = signs.list()
  let answer = (_: unknown): void => {}
  reading = new Promise((resolve) => {
    answer = resolve
  })
  const late = verifies.load()
  while (reads === 0) await new Promise(setImmediate)
  await signs.revoke(revoked?.kid as string)
  await signs.publish()
  reading = Promise.resolve()
  const soon = verifies.load()
  await new Promise(setImmediate)
  answer(null)
  await Promise.all([late, soon])
  expect(verifies.jwks().keys.map(({ kid }) => kid)).not.toContain(revoked?.kid)
})
