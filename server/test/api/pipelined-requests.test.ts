/** Callers that send many requests on a connection before they read an answer: work is done for a few of them alone. */
import { connect, type Socket } from 'node:net'
import { until } from '@countersign/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MAX_PIPELINED_REQUESTS } from '#server/http/connections'
import { type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy, everyItem } from './refunds.js'

let server: RunningServer
beforeAll(async () => {
  server = await runServer({ settings: { rateLimitPerSecond: 0 } })
  await createPolicy(server, allowing('a.b'))
})
afterAll(() => server.stop())

/** All of them come within the 64 KiB that the server reads at a time. */
const MANY = 200
const HEAD = 'HTTP/1.1\r\nHost: x\r\n'
const get = (path: string, headers = '') => `GET ${path} ${HEAD}${headers}\r\n`

function decision(agent: string): string {
  const body = JSON.stringify({ agent_id: agent, action: 'a.b' })
  const headers = `Authorization: Bearer ${server.key}\r\nContent-Type: application/json\r\n`
  return `POST /v1/decisions ${HEAD}${headers}Content-Length: ${body.length}\r\n\r\n${body}`
}

function send(bytes: string): Socket {
  return connect(Number(new URL(server.url).port), '127.0.0.1', function (this: Socket) {
    this.write(bytes)
  }).on('error', () => {})
}

/** Sends and reads nothing until the server has ended the connection, or has done all of it. */
async function sendUnread(bytes: string): Promise<void> {
  const [ended, done] = [endings().length, worked()]
  const socket = send(bytes).pause()
  const isOver = () => endings().length > ended || worked() >= done + MANY
  await until('the connection to be ended', () => (isOver() ? true : undefined), 3_000)
  socket.destroy()
}

const endings = () =>
  server.logged.filter(({ message }) => /further requests before reading its responses/.test(message))
/** What was done for callers, as the log has it. */
const worked = () => server.logged.length - endings().length

it.each([
  ['a page', () => get('/openapi.json')],
  ['the state of the server', () => get('/livez')],
  ['what nobody has', () => get('/v1/nowhere')],
  ['what is refused before it is a request', () => get('/livez', 'Expect: wonders\r\n')],
  ['a request without a host', () => 'GET /livez HTTP/1.1\r\n\r\n'],
])('does nothing for those who pipeline %s beyond a few, and answers others', async (_, request) => {
  const before = worked()
  await sendUnread(request().repeat(MANY))
  expect((await server.call('GET', '/livez', { key: null })).status).toBe(200)
  // The one that was just asked is among them.
  expect(worked() - before).toBeLessThanOrEqual(MAX_PIPELINED_REQUESTS + 1)
  expect(endings().at(-1)?.fields).toEqual({ address: '127.0.0.1', requests: MAX_PIPELINED_REQUESTS })
})

it('decides a few of many decisions that are pipelined and not read, and none twice', async () => {
  await sendUnread(decision('agent:unread').repeat(MANY))
  const decided = await everyItem(server, '/v1/decisions?agent_id=agent:unread')
  expect(decided.length).toBeLessThanOrEqual(MAX_PIPELINED_REQUESTS)
  expect(
    (await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:other', action: 'a.b' } })).status,
  ).toBe(200)
})

it('answers as many as it takes at once, in their order, as often as they come', async () => {
  const agents = Array.from({ length: MAX_PIPELINED_REQUESTS }, (_, at) => `agent:n${at}`)
  const batch = agents.map(decision).join('')
  const socket = send(batch)
  let said = ''
  const answered = () => [...said.matchAll(/"agent_id":"(agent:n\d+)"/g)].map(([, agent]) => agent)
  socket.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  await until('a batch to be answered', () => (answered().length === agents.length ? true : undefined))
  socket.write(batch)
  await until('another one', () => (answered().length === 2 * agents.length ? true : undefined))
  expect(answered()).toEqual([...agents, ...agents])
  socket.destroy()
})
