/** What no client library sends: requests as bytes, on a connection that others may stand behind. */
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningServer, runServer } from '../running-server.js'
import { everyItem } from './refunds.js'
import { stored } from './stored.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
})
afterAll(() => server.stop())

const LAST = 'GET /v1/nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

/** All that the server says to these bytes until it closes the connection. */
function exchange(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(bytes))
    let said = ''
    socket.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    socket.on('close', () => resolve(said)).on('error', reject)
  })
}

const statuses = (said: string) => [...said.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
const auth = () => `Authorization: Bearer ${server.key}\r\n`
const post = (headers: string, body: string, path = '/v1/decisions') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
const JSON_TYPE = 'Content-Type: application/json\r\n'
const HIDDEN = `POST /v1/agents/agent:hidden/suspend HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n`

it('takes the body of a refused request for no request of its own', async () => {
  const before = await stored(server)
  const inner = `${HIDDEN}${auth()}\r\n`
  for (const [request, status] of [
    [post(JSON_TYPE, inner), 401],
    [post(auth() + JSON_TYPE, inner), 400],
    [post(`${auth()}Content-Type: text/plain\r\n`, inner), 415],
    [post(auth() + JSON_TYPE, inner, '/v1/nowhere'), 404],
    [post(auth() + JSON_TYPE, inner, '/v1/keys/self'), 405],
    [post(auth() + JSON_TYPE, inner.padEnd(100_000)), 413],
    [`GET /v1/keys/self HTTP/1.1\r\nHost: x\r\n${auth()}Content-Length: ${inner.length}\r\n\r\n${inner}`, 200],
    [`DELETE /v1/policies/x HTTP/1.1\r\nHost: x\r\n${auth()}Content-Length: ${inner.length}\r\n\r\n${inner}`, 404],
  ] as const)
    expect(statuses(await exchange(request + LAST)), request.slice(0, 40)).toEqual([status, 401])
  expect(await stored(server)).toEqual(before)
})

it('refuses lengths that leave open where a request ends, and ends the connection', async () => {
  const before = await stored(server)
  const body = '{"agent_id":"agent:hidden","action":"a.b"}'
  const start = `POST /v1/decisions HTTP/1.1\r\nHost: x\r\n${auth()}${JSON_TYPE}`
  for (const lengths of [
    `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n`,
    `Content-Length: ${body.length}\r\nContent-Length: 5\r\n`,
    `Content-Length: ${body.length}, ${body.length}\r\n`,
    'Content-Length: -1\r\n',
    'Content-Length: 0x10\r\n',
    'Transfer-Encoding: chunked, identity\r\n',
    'Transfer-Encoding: xchunked\r\n',
  ])
    expect(statuses(await exchange(`${start}${lengths}\r\n${body}${LAST}`)), lengths).toEqual([400])
  expect(await stored(server)).toEqual(before)
})

it('answers a body that never ends with 413, and ends the connection', async () => {
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  const start = `POST /v1/decisions HTTP/1.1\r\nHost: x\r\n${auth()}${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`
  const said = await exchange(start + chunk.repeat(20))
  expect(statuses(said)).toEqual([413])
  expect(said).toMatch(/connection: close/i)
})

it('takes a path as it is written', async () => {
  const ask = async (path: string) =>
    statuses(await exchange(`GET ${path} HTTP/1.1\r\nHost: x\r\n${auth()}Connection: close\r\n\r\n`))
  for (const path of [
    '/v1/../v1/keys/self',
    '/v1/agents/../keys/self',
    '//v1/keys/self',
    '/v1/keys/./self',
    '/v1/keys%2Fself',
    '/V1/keys/self',
    '/v1/keys/self/',
    '/v1/keys/self%00',
  ])
    expect(await ask(path), path).toEqual([404])
  expect(await ask('/v1/keys/self')).toEqual([200])
  expect(await ask('/v1/keys/%73elf')).toEqual([404])
  expect(await ask(`${server.url}/v1/keys/self`)).toEqual([200])
})

it('answers requests that come together in their order', async () => {
  const ask = (agent: string) => post(auth() + JSON_TYPE, JSON.stringify({ agent_id: agent, action: 'a.b' }))
  const said = await exchange(ask('agent:first') + ask('agent:second') + ask('agent:third') + LAST)
  expect(statuses(said)).toEqual([200, 200, 200, 401])
  expect([...said.matchAll(/"agent_id":"agent:(\w+)"/g)].map(([, agent]) => agent)).toEqual([
    'first',
    'second',
    'third',
  ])
  expect(await everyItem(server, '/v1/decisions')).toHaveLength(3)
})
