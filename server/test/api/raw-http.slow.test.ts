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

/** The answers in what was said, each as a problem that has to be whole. */
function problemsIn(said: string) {
  return said
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((answer) => !/^HTTP\/1\.1 2/.test(answer))
    .map((answer) => {
      const [head = '', text = ''] = answer.split('\r\n\r\n')
      const headers = new Headers(
        head
          .split('\r\n')
          .slice(1)
          .map((line) => line.split(': ', 2) as [string, string]),
      )
      expect(Number(headers.get('content-length')), answer).toBe(text.length)
      return { status: Number(head.split(' ')[1]), headers, problem: JSON.parse(text) }
    })
}

function expectProblem(said: string, status: number, code: string, requestId?: string) {
  expect(statuses(said), said).toEqual([status])
  const [{ headers, problem }] = problemsIn(said) as [ReturnType<typeof problemsIn>[number]]
  const id = headers.get('x-request-id')
  expect(id).toMatch(requestId ?? /^req_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
  expect(problem).toEqual({
    ...{ type: `/docs/errors#${code}`, title: expect.any(String), status, detail: expect.any(String), code },
    request_id: id,
    ...(code === 'validation_failed' && { errors: [{ pointer: expect.any(String), detail: expect.any(String) }] }),
  })
  for (const [name, value] of [
    ['content-type', 'application/problem+json'],
    ['cache-control', 'no-store'],
    ['connection', 'close'],
    ['x-content-type-options', 'nosniff'],
    ['content-security-policy', expect.stringContaining("default-src 'none'")],
    ['referrer-policy', 'no-referrer'],
    ['date', expect.any(String)],
  ] as const)
    expect(headers.get(name), name).toEqual(value)
  expect(server.logged).toContainEqual({
    level: 'info',
    fields: expect.objectContaining({ request_id: id, status }),
    message: expect.any(String),
  })
}

it('answers with a problem what is no request of HTTP', async () => {
  const large = `X-Large: ${'x'.repeat(20_000)}\r\n`
  for (const [bytes, status] of [
    ['GARBAGE\r\n\r\n', 400],
    ['\x16\x03\x01\x02\x00\x01\x00\x01', 400],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['GET /livez HTTP/1.1\r\n\r\n', 400],
    ['GET /livez HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n', 400],
    [`GET /livez HTTP/1.1\r\nHost: x\r\n${large}\r\n`, 431],
    [`GET /livez HTTP/1.1\r\nHost: x\r\n${large.repeat(100)}\r\n`, 431],
    ['GET /livez HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n', 417],
  ] as const)
    expectProblem(await exchange(bytes), status, 'validation_failed')
  expect(statuses(await exchange('GET /livez HTTP/1.0\r\n\r\n'))).toEqual([200])
})

it('answers a body that is no HTTP once, under the id of its request', async () => {
  const start = `POST /v1/decisions HTTP/1.1\r\nHost: x\r\nX-Request-Id: own-request-id\r\n${auth()}${JSON_TYPE}`
  const chunked = `${start}Transfer-Encoding: chunked\r\n\r\n`
  expectProblem(await exchange(`${chunked}no length\r\n${LAST}`), 400, 'validation_failed', 'own-request-id')
  expectProblem(await exchange(`${chunked}1;${'x'.repeat(20_000)}\r\n`), 413, 'body_too_large', 'own-request-id')
})

it('answers what came before, and then what is no request', async () => {
  const ask = post(auth() + JSON_TYPE, '{"agent_id":"agent:before","action":"a.b"}')
  const self = `GET /v1/keys/self HTTP/1.1\r\nHost: x\r\n${auth()}\r\n`
  const said = await exchange(`${ask}${self}${ask}GARBAGE\r\n\r\nGARBAGE\r\n\r\n`)
  expect(statuses(said)).toEqual([200, 200, 200, 400])
  expect(problemsIn(said)).toMatchObject([{ problem: { code: 'validation_failed' } }])
  const chunked = `${HIDDEN.replace('Content-Length: 0', 'Transfer-Encoding: chunked')}${JSON_TYPE}${auth()}\r\nno length\r\n`
  expect(statuses(await exchange(ask + chunked))).toEqual([200, 400])
})

it('answers with a problem what does not come in time, but never twice', { timeout: 30_000 }, async () => {
  const half = (headers: string) => `POST /v1/decisions HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: 50\r\n\r\n{`
  const [head, body, answered] = await Promise.all([
    exchange('GET /livez HTTP/1.1\r\nHost: x\r\n'),
    exchange(half(auth() + JSON_TYPE)),
    exchange(half(JSON_TYPE)),
  ])
  expectProblem(head, 408, 'validation_failed')
  expectProblem(body, 408, 'validation_failed')
  expect(statuses(answered)).toEqual([401])
})

it('goes on when callers break their connections', async () => {
  const { port } = new URL(server.url)
  for (const bytes of [
    '',
    'GARB',
    'GARBAGE\r\n\r\n',
    LAST.slice(0, 30),
    post(auth() + JSON_TYPE, 'x'.repeat(9)).slice(0, -5),
  ])
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () =>
        socket.write(bytes || ' ', () => socket.resetAndDestroy()),
      )
      socket.on('close', () => resolve()).on('error', reject)
    })
  expect(statuses(await exchange(LAST))).toEqual([401])
})
