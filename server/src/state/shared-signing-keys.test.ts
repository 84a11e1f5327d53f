import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Keyring, openKeyring } from '../adapters/keyring/keyring.js'
import type { Signer } from '../ports/signer.js'
import type { PublishedSigningKey, SharedSigningKey } from '../ports/store/replicas.js'
import { permitCheck } from '../use-cases/permits/verify.js'
import { SharedSigningKeys } from './shared-signing-keys.js'

let nowMs: number
let published: Map<string, PublishedSigningKey>
/** What reads of the store wait for. */
let reading: Promise<unknown>
let reads: number
let isKeySetRead: boolean
let directories: string[]
beforeEach(() => {
  nowMs = Date.parse('2026-11-21T10:00:00.000Z')
  published = new Map()
  reading = Promise.resolve()
  reads = 0
  isKeySetRead = false
  directories = []
})
afterEach(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))))

const clock = { now: () => new Date(nowMs) }
const store = {
  async publishSigningKeys(keys: readonly SharedSigningKey[]) {
    for (const key of keys) published.set(key.kid, { is_known: false, ...published.get(key.kid), ...key })
  },
  async markKeysKnown(kids: readonly string[]) {
    for (const kid of kids) published.set(kid, { ...(published.get(kid) as PublishedSigningKey), is_known: true })
  },
  async loadSigningKeys() {
    reads += 1
    const found = [...published.values()]
    await reading
    return found
  },
  async join() {
    return ['https://decisions.example']
  },
  async markKeySetRead() {
    isKeySetRead = true
  },
  async wasKeySetRead() {
    return isKeySetRead
  },
}

async function newKeyring(): Promise<Keyring> {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-keys-'))
  directories.push(dataDir)
  return openKeyring({ dataDir, clock })
}

/** A server. */
async function open(): Promise<{ readonly keys: SharedSigningKeys; readonly own: Keyring }> {
  const own = await newKeyring()
  return { keys: new SharedSigningKeys(own, store, clock), own }
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
  const [{ keys: signs, own }, { keys: verifies }] = [await open(), await open()]
  await signs.publish()
  const [revoked] = own.list()
  let answer = (_: unknown): void => {}
  reading = new Promise((resolve) => {
    answer = resolve
  })
  const late = verifies.load()
  while (reads === 0) await new Promise(setImmediate)
  await own.revoke(revoked?.kid as string)
  await signs.publish()
  reading = Promise.resolve()
  const soon = verifies.load()
  await new Promise(setImmediate)
  answer(null)
  await Promise.all([late, soon])
  expect(verifies.jwks().keys.map(({ kid }) => kid)).not.toContain(revoked?.kid)
})

test('a process that joins waits for verifiers whose key set lacks its key, in whatever order both come', async () => {
  const keyrings = [await newKeyring(), await newKeyring()] as const
  for (const order of orders('read', 2, 'join', 5)) {
    ;[published, isKeySetRead] = [new Map(), false]
    const [reads, joins] = [stepByStep(), stepByStep()]
    const serves = new SharedSigningKeys(keyrings[0], reads.store, clock)
    const joined = new SharedSigningKeys(keyrings[1], joins.store, clock)
    const kid = keyrings[1].list().find(({ state }) => state === 'active')?.kid
    const [reading, joining] = [serves.jwksForVerifiers(), joined.join('https://decisions.example')]
    for (const next of order) await (next === 'read' ? reads.step(reading) : joins.step(joining))
    const [{ keys }] = await Promise.all([reading, joining])
    const isInSet = keys.some((key) => key.kid === kid)
    // Killed and started again at once.
    const again = new SharedSigningKeys(keyrings[1], store, clock)
    await again.join('https://decisions.example')
    for (const { isKnown } of [joined, again]) expect(isInSet || !isKnown, order.join()).toBe(true)
    // Nobody waits without a reason.
    if (order.lastIndexOf('join') < order.indexOf('read'))
      for (const { isKnown } of [joined, again]) expect(isKnown, order.join()).toBe(true)
  }
})

/** All the orders in which calls of two can come. */
function orders(one: string, ones: number, other: string, others: number): string[][] {
  if (ones + others === 0) return [[]]
  const first = ones === 0 ? [] : orders(one, ones - 1, other, others).map((rest) => [one, ...rest])
  const second = others === 0 ? [] : orders(one, ones, other, others - 1).map((rest) => [other, ...rest])
  return [...first, ...second]
}

/** The store, each of whose calls waits until it is let go. */
function stepByStep(): { readonly store: typeof store; step(of: Promise<unknown>): Promise<void> } {
  const waiting: (() => void)[] = []
  let called = 0
  let answered = 0
  const inTurn = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    called += 1
    await new Promise<void>((resolve) => waiting.push(resolve))
    return call().finally(() => {
      answered += 1
    })
  }
  return {
    store: {
      publishSigningKeys: (keys) => inTurn(() => store.publishSigningKeys(keys)),
      markKeysKnown: (kids) => inTurn(() => store.markKeysKnown(kids)),
      loadSigningKeys: () => inTurn(store.loadSigningKeys),
      join: () => inTurn(store.join),
      markKeySetRead: () => inTurn(store.markKeySetRead),
      wasKeySetRead: () => inTurn(store.wasKeySetRead),
    },
    /** Does nothing once the work is done that the calls are of. */
    async step(work) {
      let isDone = false
      void work.finally(() => {
        isDone = true
      })
      while (waiting.length === 0 && !isDone) await new Promise(setImmediate)
      waiting.shift()?.()
      while (answered < called && waiting.length === 0) await new Promise(setImmediate)
    },
  }
}
