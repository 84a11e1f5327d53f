/** One key never keeps the long calls of another one waiting: who holds which place, and what another key gets meanwhile. */
import { connect, type Socket } from 'node:net'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '#server/ports/store/store'
import { TREES_READER } from '#server/use-cases/audit/trees'
import { type Answer, type RunningServer, runServer } from '../running-server.js'
import { openStoreWith } from '../store-with.js'
import { allowing, createPolicy, decide, makeKey, succeed } from './refunds.js'

const READER = ['decisions:read', 'decisions:write', 'policies:read', 'audit:read', 'budgets:read', 'keys:write']
/** More than the connections of a machine hold of a stream that nobody reads. */
const PADDING = 'x'.repeat(512 * 1024)

/** Calls of the store that wait while it is shut. */
class Gate {
  shut = false
  passed = 0
  private readonly waiting: (() => void)[] = []

  async pass(): Promise<void> {
    if (this.shut) await new Promise<void>((open) => this.waiting.push(open))
    this.passed += 1
  }
  open(): void {
    this.shut = false
    for (const go of this.waiting.splice(0)) go()
  }
}

let lists: Gate
let saves: Gate
let erasures: Gate
let isPadded: boolean
/** Whether another server keeps the trees: this one waits until an entry is under a checkpoint. */
let areTreesElsewhere: boolean
let server: RunningServer
let busy: { readonly id: string; readonly key: string }
let other: { readonly id: string; readonly key: string }
let sockets: Socket[]
beforeEach(async () => {
  lists = new Gate()
  saves = new Gate()
  erasures = new Gate()
  isPadded = false
  areTreesElsewhere = false
  sockets = []
  server = await runServer({ settings: { rateLimitPerSecond: 0 }, parts: { openStore } })
  busy = await makeKey(server, READER)
  other = await makeKey(server, READER)
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  lists.open()
  saves.open()
  erasures.open()
  await server.stop()
})

function openStore(dataDir: string): Promise<Store> {
  return openStoreWith(dataDir, (store) => ({
    decisions: {
      async list(...args: Parameters<Store['decisions']['list']>) {
        await lists.pass()
        return store.decisions.list(...args)
      },
      async listHeldRequests(...args: Parameters<Store['decisions']['listHeldRequests']>) {
        await erasures.pass()
        return store.decisions.listHeldRequests(...args)
      },
    },
    audit: { read: readLog(store) },
    readers: { hold: holdReader(store), save: saveReader(store) },
  }))
}

const readLog =
  ({ audit }: Store): Store['audit']['read'] =>
  async (...args) => {
    const entries = await audit.read(...args)
    return isPadded ? entries.map((entry) => ({ ...entry, data: { ...entry.data, padding: PADDING } })) : entries
  }

const saveReader =
  ({ readers }: Store): Store['readers']['save'] =>
  async (...args) => {
    await saves.pass()
    return readers.save(...args)
  }

const holdReader =
  ({ readers }: Store): Store['readers']['hold'] =>
  async (...args) =>
    areTreesElsewhere && args[0] === TREES_READER ? null : readers.hold(...args)

const places = () => server.started.composed.longWork.places
const holders = () => Object.fromEntries(places().holders)
const waiters = () => Object.fromEntries(places().waiters)
const get = (path: string, { key } = other) => server.call('GET', path, { key })

/** Lists of decisions, of which none ends before the gate opens. */
async function listsInProgress(keys: readonly { readonly id: string; readonly key: string }[], calls: number) {
  lists.shut = true
  const answers = keys.flatMap((key) => Array.from({ length: calls }, () => get('/v1/decisions', key)))
  await until(
    'calls to wait',
    () => keys.every(({ id }) => (holders()[id] ?? 0) + (waiters()[id] ?? 0) === calls) || undefined,
  )
  return answers
}

/** What the other key gets while something is in progress. */
async function expectOtherIsServed(): Promise<void> {
  await createPolicy(server, allowing('a.b'))
  await succeed(get('/v1/policies'))
  const body = { agent_id: 'agent:a', action: 'a.b' }
  await succeed(server.call('POST', '/v1/simulate', { key: other.key, body: { request: body } }))
  await succeed(
    server.call('POST', '/v1/capabilities', { key: other.key, body: { agent_id: 'agent:a', actions: ['a.b'] } }),
  )
  await succeed(server.call('POST', '/v1/decisions', { key: other.key, body }))
}

describe('a key with many calls', () => {
  it('holds its two places and no more, and all others are served', async () => {
    const answers = await listsInProgress([busy], 8)
    expect(holders()).toEqual({ [busy.id]: 2 })
    expect(waiters()).toEqual({ [busy.id]: 6 })
    await expectOtherIsServed()
    expect(holders()).toEqual({ [busy.id]: 2 })
    const { body: metrics } = await metricsOf()
    expect(metrics).toMatch(/^countersign_long_calls 2$/m)
    expect(metrics).toMatch(/^countersign_long_calls_waiting 6$/m)
    lists.open()
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect([holders(), waiters()]).toEqual([{}, {}])
  })

  it('holds no more by the keys that it creates', async () => {
    const made = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        succeed(
          server.call('POST', '/v1/keys', { key: busy.key, body: { name: `made ${i}`, scopes: ['decisions:read'] } }),
        ),
      ),
    )
    const answers = await listsInProgress([...made, busy], 3)
    expect([...places().holders.values()].reduce((sum, count) => sum + count)).toBe(4)
    await expectOtherIsServed()
    lists.open()
    expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true)
  })

  it('is told what is full', async () => {
    const answers = await listsInProgress([busy], 102)
    const { status, headers, body } = await get('/v1/decisions', busy)
    expect([status, headers.get('retry-after'), body.code]).toEqual([429, '1', 'rate_limited'])
    expect(body.detail).toBe(
      '100 long requests of this key (lists, simulations and the like) are already waiting. Retry in 1 s.',
    )
    lists.open()
    await Promise.all(answers)
  })

  it('gives its places and its turns up when it leaves', async () => {
    lists.shut = true
    const request = `GET /v1/decisions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${busy.key}\r\n\r\n`
    for (let i = 0; i < 102; i += 1) await open(request)
    await until('calls to wait', () => waiters()[busy.id] === 100 || undefined)
    for (const socket of sockets) socket.destroy()
    const answer = await until('the calls of those who left to be forgotten', async () => {
      const late = get('/v1/decisions', busy)
      await until('the late one to wait, or its answer', () =>
        Promise.race([late, waiters()[busy.id] === 1 || undefined]),
      )
      return waiters()[busy.id] === 1 ? { late } : undefined
    })
    lists.open()
    await succeed(answer.late)
    // Those in progress had left, and their lists may take longer.
    await until('all places to be free', () => Object.keys(holders()).length === 0 || undefined)
    expect(waiters()).toEqual({})
    // The two that were in progress, and the late one.
    expect(lists.passed).toBe(3)
  })
})

/** Each kind of long call, with its body where it has one. @param id of a decision */
const LONG_CALLS: Readonly<Record<string, (id: string) => readonly [path: string, body?: object]>> = {
  capabilities: () => ['/v1/capabilities', { agent_id: 'agent:a', actions: ['a.b'] }],
  'a simulation': () => ['/v1/simulate', { request: { agent_id: 'agent:a', action: 'a.b' } }],
  'an explanation': (id) => [`/v1/decisions/${id}/explanation`],
  statistics: () => ['/v1/stats'],
  'a proof': (id) => [`/v1/audit/proof?decision_id=${id}`],
  checkpoints: () => ['/v1/audit/checkpoints'],
  'an export': () => ['/v1/audit/export'],
  'a list of entries': () => ['/v1/audit'],
  'a list of policies': () => ['/v1/policies'],
  'a list of budgets': () => ['/v1/budgets'],
}

describe('a key whose places are taken', () => {
  it.each(Object.keys(LONG_CALLS))('waits with %s', async (what) => {
    const { id } = await decide(server, { agent_id: 'agent:a', action: 'a.b' })
    const inProgress = await listsInProgress([busy], 2)
    const [path, body] = LONG_CALLS[what]?.(id) ?? ['']
    const answer = server.call(body === undefined ? 'GET' : 'POST', path, { key: busy.key, body })
    const waits = until('it to wait', () => waiters()[busy.id] === 1 || undefined)
    expect(await Promise.race([answer.then(({ status }) => status), waits])).toBe(true)
    expect(holders()).toEqual({ [busy.id]: 2 })
    lists.open()
    expect((await Promise.all([answer, ...inProgress])).map(({ status }) => status)).toEqual([200, 200, 200])
  })
})

describe('what waits for the feed holds no place', () => {
  it('statistics and proofs', async () => {
    const { id } = await decide(server, { agent_id: 'agent:a', action: 'a.b' })
    await succeed(get(`/v1/audit/proof?decision_id=${id}`))
    saves.shut = true
    const later = await decide(server, { agent_id: 'agent:a', action: 'a.b' })
    const answers = ['/v1/stats', `/v1/audit/proof?decision_id=${later.id}`].flatMap((path) =>
      Array.from({ length: 4 }, () => get(path, busy)),
    )
    await until('all of them to wait', () => waiters()[busy.id] === 8 || undefined)
    expect(holders()).toEqual({})
    await succeed(get('/v1/decisions', busy))
    await expectOtherIsServed()
    saves.open()
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
    expect([holders(), waiters()]).toEqual([{}, {}])
  })
})

describe('what waits for the trees of another server holds no place', () => {
  it('proofs', async () => {
    areTreesElsewhere = true
    server = await server.restart()
    const { id } = await decide(server, { agent_id: 'agent:a', action: 'a.b' })
    const answers = Array.from({ length: 4 }, () => get(`/v1/audit/proof?decision_id=${id}`, busy))
    await until('all of them to wait', () => waiters()[busy.id] === 4 || undefined)
    // Each has looked at the trees by then, which holds no place either.
    await expectOtherIsServed()
    expect([holders(), waiters()]).toEqual([{}, { [busy.id]: 4 }])
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
  })
})

describe('exports that are read slowly', () => {
  it('count against their key alone, and hold no place while nobody reads', async () => {
    for (let i = 0; i < 40; i += 1) await decide(server, { agent_id: 'agent:a', action: 'a.b' })
    await exported()
    isPadded = true
    const request = `GET /v1/audit/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${busy.key}\r\n\r\n`
    for (let i = 0; i < 4; i += 1) await open(request)
    await until('four answers to begin', () => sockets.every(({ bytesRead }) => bytesRead > 0) || undefined)
    const refused = await get('/v1/audit/export', busy)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(refused.body.detail).toBe('4 exports of this key are in progress. Retry when one has ended.')
    await until('nobody to make anything', () => places().holders.size === 0 || undefined)
    isPadded = false
    await exported()
    await expectOtherIsServed()
    for (const socket of sockets) socket.destroy()
    await until(
      'their key to export again',
      async () => (await get('/v1/audit/export', busy)).status === 200 || undefined,
    )
  })
})

describe('an export that is under way', () => {
  it('waits for a place with each piece, as long as its key has none', async () => {
    for (let i = 0; i < 40; i += 1) await decide(server, { agent_id: 'agent:a', action: 'a.b' })
    await exported()
    isPadded = true
    await open(`GET /v1/audit/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${busy.key}\r\n\r\n`)
    await until('the answer to begin', () => sockets[0]?.bytesRead || undefined)
    await until('nobody to make anything', () => places().holders.size === 0 || undefined)
    const inProgress = await listsInProgress([busy], 2)
    sockets[0]?.resume()
    await until('the export to wait', () => waiters()[busy.id] === 1 || undefined)
    lists.open()
    await Promise.all(inProgress)
    await until('the end of the export', () => places().holders.size + places().waiters.size === 0 || undefined)
  })
})

describe('erasing the requests of an agent', () => {
  it('takes turns by keys: one with many erasures does not keep that of another waiting', async () => {
    const [one, another] = await Promise.all([makeKey(server, ['audit:write']), makeKey(server, ['audit:write'])])
    for (const agent of ['a', 'b']) await decide(server, { agent_id: `agent:${agent}`, action: 'a.b' })
    const erase = (agent: string, { key }: { readonly key: string }) =>
      succeed(server.call('DELETE', `/v1/audit/requests?agent_id=agent:${agent}`, { key }))
    erasures.shut = true
    const many = Array.from({ length: 8 }, () => erase('a', one))
    await until('them to wait', () => waiters()[one.id] === 6 || undefined)
    expect(holders()).toEqual({ [one.id]: 2 })
    let endedBefore = 0
    for (const each of many) void each.then(() => (endedBefore += 1))
    const other = erase('b', another)
    await until('the other to have its place', () => holders()[another.id] === 1 || undefined)
    erasures.open()
    expect(await other).toEqual({ agent_id: 'agent:b', erased: 1 })
    // No more than those that had their places before.
    expect(endedBefore).toBeLessThanOrEqual(2)
    await Promise.all(many)
    expect([holders(), waiters()]).toEqual([{}, {}])
  })

  it('goes on when its caller has left', async () => {
    const { id } = await decide(server, { agent_id: 'agent:left', action: 'a.b' })
    const before = await makeKey(server, ['audit:write'])
    erasures.shut = true
    const held = Array.from({ length: 2 }, () =>
      server.call('DELETE', '/v1/audit/requests?agent_id=agent:none', { key: before.key }),
    )
    await until('its places to be taken', () => holders()[before.id] === 2 || undefined)
    await open(
      `DELETE /v1/audit/requests?agent_id=agent:left HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${before.key}\r\n\r\n`,
    )
    await until('it to wait', () => waiters()[before.id] === 1 || undefined)
    sockets[0]?.destroy()
    erasures.open()
    await Promise.all(held)
    await until(
      'the erasure',
      async () => (await succeed(server.call('GET', `/v1/decisions/${id}`))).request_erased_at ?? undefined,
    )
  })
})

describe('streams of events', () => {
  it('are shared as places are: a key with all keys that it creates keeps nobody out', async () => {
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        succeed(
          server.call('POST', '/v1/keys', { key: busy.key, body: { name: `made ${i}`, scopes: ['decisions:read'] } }),
        ),
      ),
    )
    const { liveEvents } = server.started.composed
    for (const { key } of [...made, busy])
      for (let i = 0; i < 25; i += 1)
        await open(`GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
    await until('its share of the streams', () => liveEvents.size === 250 || undefined)
    await until('the others to be answered', () => sockets.every(({ bytesRead }) => bytesRead > 0) || undefined)
    expect(liveEvents.size).toBe(250)
    const refused = await get('/v1/events', made[0])
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '5'])
    expect(refused.body.detail).toBe('250 streams of this key and its related keys are open. Close one, then retry.')
    expect((await get('/v1/events')).status).toBe(200)
  })
})

/** An export of the other key. */
async function exported(): Promise<void> {
  const { status, body } = await get('/v1/audit/export')
  expect(status, JSON.stringify(body)).toBe(200)
  expect(body.split('\n').length).toBeGreaterThan(40)
}

async function metricsOf(): Promise<Pick<Answer, 'body'>> {
  return { body: await (await fetch(`${server.url}/metrics`)).text() }
}

/** A connection on which a request was sent, and of which nothing is read. */
async function open(request: string): Promise<void> {
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' })
  sockets.push(socket)
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.pause().write(request)
}
