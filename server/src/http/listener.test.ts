/** The front door on a real server: where it is mounted, who calls there, and answers that have no end of their own. */
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { until } from '@countersign/testkit'
import express from 'express'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { typeidIds } from '../adapters/typeid-ids.js'
import { DomainError } from '../domain-error.js'
import type { StoredKey } from '../ports/store/documents.js'
import { NO_TRACER } from '../ports/tracer.js'
import { alwaysFresh } from '../state/freshness.js'
import { Keys } from '../state/keys.js'
import { Api } from './api.js'
import type { CallerStrategy } from './callers.js'
import { Connections } from './connections.js'
import { Idempotency } from './idempotency.js'
import { apiListener, type Listener } from './listener.js'
import { LongWork } from './long-work.js'
import { RateLimit } from './rate-limit.js'
import type { Call, Route } from './route.js'
import { StalledConnections } from './stalled-connections.js'
import { UnreadAnswers } from './unread-answers.js'

const KEY: StoredKey = {
  id: 'key_1',
  version: 1,
  name: 'k',
  scopes: ['*'],
  agents: null,
  created_at: '2026-11-21T10:00:00.000Z',
  created_by: null,
  expires_at: null,
  revoked_at: null,
  secrets: [],
}

/** As a session would be: a cookie names it. */
const bySession: CallerStrategy = {
  showsPermits: true,
  credentialOf({ cookie = '' }) {
    if (!cookie.startsWith('session=')) throw new DomainError('unauthorized')
    return cookie
  },
  identify(cookie) {
    if (cookie !== 'session=ada') throw new DomainError('unauthorized')
    return { key: KEY, until: null }
  },
}

let server: Server
let url: string
let isServing: boolean
let connections: Connections
let unread: UnreadAnswers
let logged: { readonly fields: object; readonly message: string }[]
const calls: Call[] = []
/** What the stream of a test does. */
let events: (signal: AbortSignal) => AsyncIterable<string>

type OnEvents = (signal: () => AbortSignal) => ReturnType<Route['handle']>
let onEvents: OnEvents
const streamOfEvents: OnEvents = async (signal) => ({
  headers: { 'Content-Type': 'text/event-stream' },
  stream: events(signal()),
})

const plain = { summary: '', scopes: { all: [] }, answer: { status: 200, description: '' }, problems: [] } as const
const ROUTES: readonly Route[] = [
  {
    ...plain,
    method: 'GET',
    path: '/v1/things/{id}',
    name: 'things.get',
    handle: async (call) => {
      calls.push(call)
      return { body: { id: call.params.id, by: call.caller.key.id } }
    },
  },
  {
    ...plain,
    method: 'GET',
    path: '/v1/events',
    name: 'events.read',
    isUnbounded: true,
    handle: ({ signal }) => onEvents(signal),
  },
  {
    ...plain,
    method: 'GET',
    path: '/v1/bytes',
    name: 'bytes.read',
    handle: async () => ({ headers: { 'Content-Type': 'image/png' }, text: Buffer.from([0, 255, 10]) }),
  },
]

function listenerAt(prefix: string): Listener {
  const clock = { now: () => new Date('2026-11-21T10:00:00.000Z') }
  const log = {
    info: (fields: object, message: string) => void logged.push({ fields, message }),
    warn: () => {},
    error: (fields: object, message: string) => void logged.push({ fields, message }),
  }
  connections = new Connections(log)
  unread = new UnreadAnswers()
  const api = new Api({
    clock,
    ids: typeidIds(clock),
    log,
    keys: new Keys([KEY], new Map()),
    freshness: alwaysFresh,
    rateLimit: new RateLimit(0),
    idempotency: new Idempotency({ get: () => Promise.resolve(null) }, clock),
    longWork: new LongWork(),
    unread,
    answerMs: null,
  })
  const metrics = { answered: () => {} }
  const deps = { api, routes: ROUTES, connections, log, metrics, tracer: NO_TRACER, unread, isServing: () => isServing }
  return apiListener(deps, { prefix, callers: bySession })
}

async function listen(handler: Parameters<typeof createServer>[1]): Promise<void> {
  server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ada = { headers: { Cookie: 'session=ada' } }

beforeEach(() => {
  isServing = true
  onEvents = streamOfEvents
  logged = []
  calls.length = 0
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

describe.each([
  ['a server of node:http', (listener: Listener) => listenBare(listener)],
  ['an application of Express', (listener: Listener) => listen(express().use(listener).use(elsewhere))],
  [
    'a router of Express below a path',
    (listener: Listener) => {
      const router = express.Router().use('/inside', listener)
      return listen(express().use('/deep', router).use(elsewhere)).then(() => {
        url += '/deep/inside'
      })
    },
  ],
])('in %s', (_, mount) => {
  it('serves its prefix alone, to those whom its strategy knows', async () => {
    await mount(listenerAt('/dashboard/v1'))
    const answer = await fetch(`${url}/dashboard/v1/things/a%20b`, ada)
    expect([answer.status, await answer.json()]).toEqual([200, { id: 'a b', by: 'key_1' }])
    for (const headers of [{}, { Cookie: 'session=eve' }, { Authorization: `Bearer ${'x'.repeat(40)}` }])
      expect((await fetch(`${url}/dashboard/v1/things/1`, { headers })).status).toBe(401)
    expect((await fetch(`${url}/dashboard/v1/nowhere`)).status).toBe(401)
    expect((await fetch(`${url}/dashboard/v1/nowhere`, ada)).status).toBe(404)
    expect((await fetch(`${url}/dashboard/v1`, ada)).status).toBe(404)
    for (const path of ['/v1/things/1', '/dashboard/v10/things/1', '/dashboard', '/Dashboard/v1/things/1'])
      expect((await fetch(`${url}${path}`, ada)).status, path).toBe(418)
    expect(calls.map(({ params }) => params)).toEqual([{ id: 'a b' }])
  })

  it('logs the path as it was sent', async () => {
    await mount(listenerAt('/dashboard/v1'))
    await fetch(`${url}/dashboard/v1/things/1?odd=1`, ada)
    const path = `${new URL(url).pathname.replace(/\/$/, '')}/dashboard/v1/things/1`
    await until('the line', () => (logged.length === 1 ? true : undefined))
    expect(logged[0]?.fields).toMatchObject({ path, status: 400, key_id: 'key_1' })
  })

  it('takes a fragment for no part of the path', async () => {
    await mount(listenerAt('/v1'))
    const { hostname, port, pathname } = new URL(url)
    const socket = connect(Number(port), hostname)
    const path = `${pathname.replace(/\/$/, '')}/v1/things/1#part`
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: session=ada\r\nConnection: close\r\n\r\n`)
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('sends bytes as they are', async () => {
    await mount(listenerAt('/v1'))
    const answer = await fetch(`${url}/v1/bytes`, ada)
    expect(answer.headers.get('content-type')).toBe('image/png')
    expect([...new Uint8Array(await answer.arrayBuffer())]).toEqual([0, 255, 10])
  })
})

function listenBare(listener: Listener): Promise<void> {
  return listen((req, res) => listener(req, res, () => elsewhere(req, res)))
}

function elsewhere(_: unknown, res: { writeHead(status: number): { end(): void } }): void {
  res.writeHead(418).end()
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((end) => signal.addEventListener('abort', end))
}

describe('an answer without an end', () => {
  it('ends when the server shuts down', async () => {
    const hasEnded = new Promise<void>((resolve) => {
      events = async function* (signal) {
        try {
          yield 'first\n'
          yield 'second\n'
          await aborted(signal)
        } finally {
          resolve()
        }
      }
    })
    await listenBare(listenerAt('/v1'))
    const answer = await fetch(`${url}/v1/events`, ada)
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    let text = ''
    while (!text.includes('second\n')) text += await read()
    isServing = false
    await connections.drain()
    await hasEnded
    expect((await reader.read()).done).toBe(true)
    // One that is asked for meanwhile ends at once.
    const late = await fetch(`${url}/v1/events`, ada)
    expect(late.headers.get('connection')).toBe('close')
    await late.text()
  })

  it('ends when its caller leaves', async () => {
    let signal: AbortSignal | undefined
    events = async function* (given) {
      signal = given
      yield 'first\n'
      await aborted(given)
    }
    await listenBare(listenerAt('/v1'))
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('GET /v1/events HTTP/1.1\r\nHost: x\r\nCookie: session=ada\r\n\r\n')
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
    await until('the end', () => signal?.aborted || undefined)
    await connections.drain()
  })

  it('that fails is cut off: its caller cannot take it for whole', async () => {
    events = async function* () {
      yield 'first\n'
      throw new Error('The disk is gone.')
    }
    await listenBare(listenerAt('/v1'))
    const answer = await fetch(`${url}/v1/events`, ada)
    await expect(answer.text()).rejects.toThrow()
    await until('the log', () =>
      logged.some(({ message }) => message === 'a response was cut off') ? true : undefined,
    )
  })

  it('whose signal is asked for after its caller left has ended', async () => {
    let ask = (_: () => AbortSignal): void => {}
    const asked = new Promise<() => AbortSignal>((resolve) => {
      ask = resolve
    })
    onEvents = (signal) => {
      ask(signal)
      return new Promise(() => {})
    }
    await listenBare(listenerAt('/v1'))
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('GET /v1/events HTTP/1.1\r\nHost: x\r\nCookie: session=ada\r\n\r\n')
    const signal = await asked
    socket.destroy()
    await connections.drain()
    expect(signal().aborted).toBe(true)
  })

  /** Lines without an end, for a caller who reads nothing. */
  async function unreadLines(watch: () => void = () => {}): Promise<{ readonly made: () => number }> {
    let made = 0
    events = async function* (signal) {
      while (!signal.aborted) {
        made += 1
        yield 'x'.repeat(100 * 1024)
        await new Promise(setImmediate)
      }
    }
    await listenBare(listenerAt('/v1'))
    watch()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET /v1/events HTTP/1.1\r\nHost: x\r\nCookie: session=ada\r\n\r\n')
    socket.pause()
    return { made: () => made }
  }

  it('whose caller does not read is counted as unread, and closed as other answers are', async () => {
    await unreadLines(() =>
      new StalledConnections({ info: () => {}, warn: () => {}, error: () => {} }, 300).watch(server),
    )
    await until('unread bytes', () => unread.total > 0 || undefined)
    expect(unread.total).toBeLessThanOrEqual(16 * 1024)
    await until('the end', () => (logged.at(-1)?.message === 'a stream has ended' ? true : undefined))
    expect(unread.total).toBe(0)
    await connections.drain()
  })

  it('can be cut off while its caller does not read', async () => {
    const cut = new AbortController()
    const plainStream = onEvents
    onEvents = async (signal) => ({ ...(await plainStream(signal)), cutOff: cut.signal })
    const { made } = await unreadLines()
    let last = -1
    await until('the source to rest', async () => {
      const rests = made() > 0 && made() === last
      last = made()
      await new Promise((goOn) => setTimeout(goOn, 50))
      return rests || undefined
    })
    cut.abort()
    await connections.drain()
    expect(logged.map(({ message }) => message)).toEqual(['a stream has ended'])
  })

  it('takes no more from its source than its caller reads', async () => {
    let made = 0
    const LINE = 'x'.repeat(16 * 1024)
    events = async function* (signal) {
      while (!signal.aborted) {
        made += 1
        yield LINE
        await new Promise(setImmediate)
      }
    }
    await listenBare(listenerAt('/v1'))
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('GET /v1/events HTTP/1.1\r\nHost: x\r\nCookie: session=ada\r\n\r\n')
    socket.pause()
    let last = -1
    await until('the source to rest', async () => {
      const rests = made > 0 && made === last
      last = made
      await new Promise((goOn) => setTimeout(goOn, 100))
      return rests || undefined
    })
    expect(made * LINE.length).toBeLessThan(64 * 1024 * 1024)
    socket.destroy()
    await connections.drain()
  })
})
