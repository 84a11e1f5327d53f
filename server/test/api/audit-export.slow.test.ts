/** Exports of the audit logs, as somebody verifies them who has nothing but the lines and the key set. */
import {
  ExportVerifier,
  IncompleteError,
  parseCheckpoint,
  parseNote,
  type VerifiedExport,
} from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { trustedKeysOf } from '#server/cli/audit/trusted-keys'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { Store } from '#server/ports/store/store'
import { openTestStore } from '../open-test-store.js'
import { type RunningServer, runServer } from '../running-server.js'
import { openStoreWith } from '../store-with.js'
import { createPolicy, decide, everyItem, makeKey, succeed } from './refunds.js'

const SETTINGS = { rateLimitPerSecond: 0, issuer: 'https://decide.example' }
const PAYMENT = { agent_id: 'agent:a', action: 'pay.create', context: { amount: 1.5 } }

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: SETTINGS })
  await createPolicy(server, {
    name: 'payments',
    rules: [{ action: 'pay.*', effect: 'allow' }],
    budget: { limit: 1000, unit: 'EUR', period: 'total' },
  })
  await decideMany(20)
  for (let log = 1; log < 3; log += 1) {
    server = await server.restart({ meanwhile: beginLog })
    await decideMany(20)
  }
})
afterAll(() => server.stop())

/** The next server writes a log of its own, as after a restore. */
async function beginLog(dataDir: string): Promise<void> {
  const store = await openTestStore(dataDir)
  await store.leaveLogs()
  await store.close()
}

const decideOnce = async (): Promise<string> => (await decide(server, PAYMENT)).id

/** Half of them are confirmed, for less. */
async function decideMany(count: number): Promise<void> {
  const ids: string[] = []
  while (ids.length < count) ids.push(...(await Promise.all(Array.from({ length: 20 }, decideOnce))))
  const half = ids.filter((_, i) => i % 2 === 0)
  await Promise.all(
    half.map((id) => succeed(server.call('POST', `/v1/decisions/${id}/confirm`, { body: { amount: 1.25 } }))),
  )
}

const exported = (): Promise<string> => succeed(server.call('GET', '/v1/audit/export'))

async function verified(text: string, keptNotes: readonly string[] = []): Promise<VerifiedExport> {
  const { keys } = await succeed(server.call('GET', '/.well-known/jwks.json', { key: null }))
  const kept = keptNotes.map((note) => parseCheckpoint(parseNote(note).text))
  const verifier = new ExportVerifier({ ...trustedKeysOf({ keys }), kept })
  for (const line of linesOf(text)) await verifier.add(new TextEncoder().encode(line))
  return verifier.end()
}

const linesOf = (text: string) => text.split('\n').slice(0, -1)
const entriesOf = (text: string): AuditEntry[] =>
  linesOf(text)
    .map((line) => JSON.parse(line))
    .filter((line) => line.checkpoint === undefined)
const rootOf = (text: string): string =>
  JSON.parse(linesOf(text).findLast((line) => line.startsWith('{"checkpoint"')) as string).checkpoint

/** Asks for an export, and reads nothing of it but what is awaited. */
function open(key = server.key): Promise<Response> {
  return fetch(`${server.url}/v1/audit/export`, { headers: { Authorization: `Bearer ${key}` } })
}

describe('GET /v1/audit/export 200', () => {
  it('has all logs, with what was durable before the call, and is verified', async () => {
    const id = await decideOnce()
    const text = await exported()
    const { logs, root } = await verified(text)
    expect(logs.size).toBe(3)
    expect(root.origin).toBe('decide.example/root')
    const entries = entriesOf(text)
    expect(entries.some(({ subject }) => subject === id)).toBe(true)
    const listed: AuditEntry[] = await everyItem(server, '/v1/audit')
    const byPlace = (one: AuditEntry, other: AuditEntry) =>
      one.log === other.log ? one.index - other.index : one.log < other.log ? -1 : 1
    expect(entries).toEqual(listed.toSorted(byPlace))
  })

  it('adds up to the budgets', async () => {
    const { budgets } = await verified(await exported())
    const { data } = await succeed(server.call('GET', '/v1/budgets'))
    expect(budgets.differences()).toEqual([])
    expect(budgets.accounts()).toEqual([
      expect.objectContaining({ unit: 'eur', spent: data[0].spent, reserved: data[0].reserved }),
    ])
    expect(data[0].spent).toBeGreaterThan(0)
    expect(data[0].reserved).toBeGreaterThan(0)
  })

  it('goes on from every earlier one, over restarts', async () => {
    const early = await exported()
    server = await server.restart()
    await decideOnce()
    const late = await exported()
    expect((await verified(late, [rootOf(early)])).checkpoints).toBeGreaterThan((await verified(early)).checkpoints)
    expect(entriesOf(late)).toEqual(expect.arrayContaining(entriesOf(early)))
  })

  it('lets decisions continue although nobody reads it', async () => {
    const answer = await open()
    await decideOnce()
    expect((await verified(await answer.text())).logs.size).toBe(3)
  })
})

describe('an export that cannot go on', () => {
  it('breaks the connection, and is known to be incomplete', async () => {
    const failing = async () => {
      throw new StoreUnavailableError('The disk is gone.')
    }
    server = await server.restart({ parts: { openStore: (dataDir) => openBefore(dataDir, failing) } })
    const { text, error } = await readOf(await open())
    expect(error).toBeInstanceOf(TypeError)
    // What was on its way when the connection broke may be lost.
    await expect(verified(text)).rejects.toThrow(IncompleteError)
    expect(server.logged).toContainEqual(expect.objectContaining({ message: 'a response was cut off' }))
    server = await server.restart({ parts: {} })
  })

  it('ends when the key of its caller is revoked, and makes room for another', async () => {
    const { id, key } = await makeKey(server, ['audit:read'])
    let isRevoked = false
    const revoked = async () => {
      await until('the key to be revoked', async () => (isRevoked ? true : undefined))
    }
    server = await server.restart({ parts: { openStore: (dataDir) => openBefore(dataDir, revoked) } })
    const answers = await Promise.all([open(key), open(key), open(key), open(key)])
    expect(await server.call('GET', '/v1/audit/export', { key })).toMatchObject({ status: 429 })
    await succeed(server.call('DELETE', `/v1/keys/${id}`))
    isRevoked = true
    for (const { text, error } of await Promise.all(answers.map(readOf))) {
      expect(error).toBeInstanceOf(TypeError)
      await expect(verified(text)).rejects.toThrow(IncompleteError)
    }
    const last = await until('room', async () => {
      const { status, body } = await server.call('GET', '/v1/audit/export')
      return status === 200 ? (body as string) : undefined
    })
    expect((await verified(last)).logs.size).toBe(3)
  })
})

/** A store that does something before each read of a log but the first that is read. The trees look at single entries. */
function openBefore(dataDir: string, before: () => Promise<void>): Promise<Store> {
  let first: string | null = null
  return openStoreWith(dataDir, ({ audit }) => ({
    audit: {
      async read(log, from, limit, ...bytes) {
        first ??= log
        if (log !== first && limit !== 1) await before()
        return audit.read(log, from, limit, ...bytes)
      },
    },
  }))
}

/** What came, and the error that ended it. */
async function readOf(answer: Response): Promise<{ readonly text: string; readonly error: unknown }> {
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>)
      text += decoder.decode(chunk, { stream: true })
  } catch (error) {
    return { text, error }
  }
  return { text, error: null }
}

describe('GET /v1/audit/export', () => {
  it('403 without audit:read', async () => {
    const { key } = await makeKey(server, ['decisions:read'])
    expect(await server.call('GET', '/v1/audit/export', { key })).toMatchObject({ status: 403 })
  })

  it('400 with a parameter that it does not know', async () => {
    expect(await server.call('GET', '/v1/audit/export?log=a')).toMatchObject({ status: 400 })
  })
})
