/** What a server answers whose store is not open yet. */
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@countersign/store-sqlite/open'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readConfig } from '#server/config'
import { type Started, start } from '#server/start'
import { TestClock } from './running-server.js'

const KEY = 'a-key-for-tests-of-more-than-32-characters'
const silent = { info: () => {}, warn: () => {}, error: () => {} }

let dataDir: string
let url: string
let starting: Promise<Started>
let openStore: () => void
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'countersign-starting-'))
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  const opened = new Promise<void>((resolve) => {
    openStore = resolve
  })
  const config = readConfig({ PORT: String(port), DATA_DIR: dataDir, COUNTERSIGN_BOOTSTRAP_KEY: KEY })
  starting = start(config, {
    clock: new TestClock(),
    log: silent,
    openStore: async () => {
      await opened
      return openSqliteStore({ dataDir })
    },
  })
})
afterEach(async () => {
  openStore()
  await (await starting).stop(0)
  await rm(dataDir, { recursive: true })
})

/** `start` tells its port only when it has started. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

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

it('lives, is not ready, and serves as soon as the store is open', async () => {
  expect((await read('/livez')).status).toBe(200)
  const ready = await read('/readyz')
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', detail: 'starting' }])
  openStore()
  await starting
  expect((await read('/readyz')).status).toBe(200)
  expect((await read('/v1/keys/self')).status).toBe(200)
})
