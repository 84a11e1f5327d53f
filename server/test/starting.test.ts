/** What a server answers whose store is not open yet. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, until } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '#server/config'
import { type Started, start } from '#server/start'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { EventReader, type ReaderOptions } from './api/event-reader.js'
import { TestClock } from './running-server.js'

const KEY = 'a-key-for-tests-of-more-than-32-characters'
const CONNECTIONS = 40
const JSON_BODY = { 'Content-Type': 'application/json' }
let logged: { readonly fields: Record<string, unknown>; readonly message: string }[]
const keep = (fields: object, message: string) => void logged.push({ fields: { ...fields }, message })
const log = { info: keep, warn: keep, error: keep }

let dataDir: string
let port: number
let url: string
let starting: Promise<Started>
let openStore: () => void
beforeEach(async () => {
  logged = []
  dataDir = await mkdtemp(join(tmpdir(), 'countersign-starting-'))
  port = await freePort()
  url = `http://127.0.0.1:${port}`
  beginStart()
})

/** Starts a server, which has its store when `openStore` is called. */
function beginStart(): void {
  const opened = new Promise<void>((resolve) => {
    openStore = resolve
  })
  const config = readConfig({
    PORT: String(port),
    DATA_DIR: dataDir,
    COUNTERSIGN_BOOTSTRAP_KEY: KEY,
    MAX_CONNECTIONS: String(CONNECTIONS),
  })
  starting = start(config, {
    clock: new TestClock(),
    log,
    openStore: async () => {
      await opened
      return openSqliteStore({ dataDir })
    },
  })
}
afterEach(async () => {
  openStore()
  await (await starting).stop(0)
  await rm(dataDir, { recursive: true })
})

const headers = { Authorization: `Bearer ${KEY}`, 'X-Request-Id': 'chosen-id' }
const read = (path: string, options: RequestInit = {}) => fetch(`${url}${path}`, { headers, ...options })

it.each([
  ['GET', '/v1/policies'],
  ['POST', '/v1/decisions'],
  ['GET', '/v1/%zz'],
  ['GET', '/openapi.json'],
  ['GET', '/.well-known/jwks.json'],
  ['GET', '/nowhere'],
])('%s %s is refused as everywhere when the store cannot be reached', async (method, path) => {
  const answer = await read(path, { method, ...(method === 'POST' && { body: '{}' }) })
  expect(answer.status).toBe(503)
  const told = Object.fromEntries(answer.headers)
  expect(told).toMatchObject({
    'content-type': 'application/problem+json',
    'x-request-id': 'chosen-id',
    'retry-after': '1',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  expect(await answer.json()).toEqual({
    type: '/docs/errors#store_unavailable',
    title: 'The store cannot record the decision.',
    status: 503,
    detail: 'The server is starting. Nothing was permitted.',
    code: 'store_unavailable',
    request_id: 'chosen-id',
  })
})

describe('GET /v1/events', () => {
  const opened: EventReader[] = []
  afterEach(() => {
    for (const reader of opened.splice(0)) reader.close()
  })
  async function waiting(options: ReaderOptions = {}, key = KEY): Promise<EventReader> {
    const reader = await EventReader.open({ url, key }, options)
    opened.push(reader)
    await until('a comment', () => reader.text !== '' || undefined)
    return reader
  }
  const decide = () =>
    read('/v1/decisions', {
      method: 'POST',
      headers: { ...headers, ...JSON_BODY },
      body: '{"agent_id":"a:b","action":"c.d"}',
    })

  it('keeps the request open, and begins when the server is ready', async () => {
    const reader = await waiting({ headers: { 'X-Request-Id': 'chosen-id' } })
    expect(reader.res).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-request-id': 'chosen-id' },
    })
    expect([reader.text, reader.lastId]).toEqual([': the server is starting\n\n', null])
    openStore()
    await starting
    await until('the begin', () => reader.lastId ?? undefined)
    const { id } = await (await decide()).json()
    expect((await reader.first(1)).map(({ data }) => data.data.id)).toEqual([id])
  })

  it('ends the stream of a key that is none, whose next connection is 401', async () => {
    const other = 'another-key-for-tests-of-more-than-32-characters'
    const [bad, good] = [await waiting({}, other), await waiting()]
    openStore()
    await starting
    expect(await bad.ended()).toBe('whole')
    expect([bad.events, bad.lastId]).toEqual([[], null])
    expect(bad.text).toMatch(/^: the server is starting\n\n: 401 [^\n]+\n\n$/)
    await until('the begin', () => good.lastId ?? undefined)
    expect((await EventReader.open({ url, key: other })).res.statusCode).toBe(401)
    const line = logged.find(({ fields }) => fields.status === 401 && fields.path === '/v1/events')
    expect(line?.message).toBe('refused a reader of live events who has waited for the start')
  })

  it.each(['', 'Basic Zm9v', 'Bearer short'])(
    'is 401 at once without anything that may be a key: %s',
    async (given) => {
      const answer = await read('/v1/events', { headers: { Authorization: given } })
      expect([answer.status, (await answer.json()).code]).toEqual([401, 'unauthorized'])
    },
  )

  it('checks the rest of the request when it can', async () => {
    const reader = await waiting({ query: '?effect=maybe' })
    const unknown = await waiting({ headers: { 'Last-Event-ID': 'x' } })
    openStore()
    await starting
    expect([await reader.ended(), await unknown.ended()]).toEqual(['whole', 'whole'])
    expect([reader.text, unknown.text].map((text) => /^: (\d+)/m.exec(text.split('\n\n')[1] as string)?.[1])).toEqual([
      '400',
      '400',
    ])
  })

  it('lets half of the connections wait, and asks each further reader to come again', async () => {
    const held = await Promise.all(Array.from({ length: CONNECTIONS / 2 }, () => waiting()))
    const further = await waiting()
    expect([further.res.statusCode, await further.ended()]).toEqual([200, 'whole'])
    expect(further.text).toMatch(/^: the server is starting\nretry: 5000\n\n$/)
    expect((await read('/livez')).status).toBe(200)
    held[0]?.close()
    await until('a place', async () => {
      const next = await waiting()
      return !next.text.includes('retry') || undefined
    })
    openStore()
    await starting
    for (const reader of held.slice(1)) await until('the begin', () => reader.lastId ?? undefined)
  })
})

describe('GET /dashboard/v1/events', () => {
  const path = '/dashboard/v1/events'
  const page = () => ({ Origin: url, 'Sec-Fetch-Site': 'same-origin' })
  const cookieOf = (text: string) => `countersign_session_${port}=${text}`

  it('keeps the page of somebody who is signed in waiting, and begins when the server is ready', async () => {
    openStore()
    await starting
    const body = JSON.stringify({ key: KEY })
    const signIn = await fetch(`${url}/dashboard/session`, {
      method: 'POST',
      headers: { ...page(), ...JSON_BODY },
      body,
    })
    expect(signIn.status).toBe(201)
    const Cookie = (signIn.headers.get('set-cookie') as string).split(';', 1)[0] as string
    await (await starting).stop(0)
    beginStart()
    const reader = await until('the port', async () =>
      EventReader.open({ url, key: KEY }, { path, headers: { ...page(), Cookie, Authorization: '' } }).catch(
        () => undefined,
      ),
    )
    await until('a comment', () => reader.text !== '' || undefined)
    expect([reader.res.statusCode, reader.res.headers['content-type']]).toEqual([200, 'text/event-stream'])
    expect([reader.text, reader.lastId]).toEqual([': the server is starting\n\n', null])
    openStore()
    await starting
    await until('the begin', () => reader.lastId ?? undefined)
    reader.close()
  })

  it('ends for a session that is none, and is refused at once to other pages and without one', async () => {
    const Cookie = cookieOf('x'.repeat(43))
    const stranger = await EventReader.open({ url, key: KEY }, { path, headers: { ...page(), Cookie } })
    await until('a comment', () => stranger.text !== '' || undefined)
    expect(stranger.res.statusCode).toBe(200)
    const elsewhere = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site', Cookie }
    expect((await fetch(`${url}${path}`, { headers: page() })).status).toBe(401)
    const foreign = await EventReader.open({ url, key: KEY }, { path, headers: elsewhere })
    expect(foreign.res.statusCode).toBe(403)
    openStore()
    await starting
    expect(await stranger.ended()).toBe('whole')
    expect(stranger.text).toMatch(/^: the server is starting\n\n: 401 [^\n]+\n\n$/)
  })
})

it('lives, is not ready, and serves as soon as the store is open', async () => {
  expect((await read('/livez')).status).toBe(200)
  const ready = await read('/readyz')
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', detail: 'starting' }])
  openStore()
  await starting
  expect((await read('/readyz')).status).toBe(200)
  expect((await read('/v1/keys/self')).status).toBe(200)
})
