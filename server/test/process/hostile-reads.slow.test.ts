/**
 * While one caller simulates, validates, lists and asks for capabilities, all the worst that the limits allow, and leaves answers
 * unread, others get their decisions. How long they wait is printed, for a busy machine would fail it; asserted is what it
 * rests on: the work of each call is bounded, and so is what is held for who does not read.
 */
import { connect } from 'node:net'
import { LIMITS } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const DECIDERS = 20
const DECISIONS_EACH = 10
/** Each with 15 lists. */
const UNREAD_CONNECTIONS = 4
const UNREAD_BYTES_PER_KEY = 16 * 1024 * 1024

let server: ShippedServer
afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const post = (path: string, body: object, key = server.key) => server.call('POST', path, { body, key })
const LIST = '/v1/decisions?limit=200&agent_id=agent:large'

it('20 callers get every decision while one sends the worst', async () => {
  server = await ShippedServer.start({ dataDir: newDirectory() })
  await post('/v1/policies', { name: 'refunds', rules: [{ action: 'payment.refund', effect: 'allow' }] })
  const context = { text: 'x'.repeat(65_000) }
  for (let i = 0; i < 40; i++) await post('/v1/decisions', { agent_id: 'agent:large', action: 'a.b', context })
  await post('/v1/policies', { ...worstCapabilities(), agents: ['agent:hostile'] })
  const scopes = ['policies:read', 'decisions:read', 'decisions:write']
  // Who leaves answers unread gets no more to read.
  const { key: silent } = (await post('/v1/keys', { name: 'silent', scopes })).body
  const { key: hostile } = (await post('/v1/keys', { name: 'hostile', scopes })).body

  const quiet = await decide()
  let isOver = false
  let longestSeconds = 0
  const done: Record<string, number> = {}
  const again = async (what: string, call: () => Promise<unknown>) => {
    while (!isOver) {
      await call()
      done[what] = (done[what] ?? 0) + 1
    }
  }
  const unread = Array.from({ length: UNREAD_CONNECTIONS }, () => {
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' }).pause()
    socket.on('error', () => {})
    socket.write(`GET ${LIST} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${silent}\r\n\r\n`.repeat(15))
    return socket
  })
  // Their answers are many bytes more than systems hold of a connection.
  let most = await until('answers to be held', async () => (await gauge(UNREAD_BYTES)) || undefined)
  const beside = [
    again('simulations', async () => {
      const { status, body } = await post('/v1/simulate', worstSimulation(), hostile)
      // Its steps are counted: there are more than an evaluation may take.
      expect({ status, reason: body.reason_code }).toEqual({ status: 200, reason: 'evaluation_limit' })
    }),
    again('validations', async () => {
      expect((await post('/v1/policies/validate', worstPolicy(), hostile)).status).toBe(200)
    }),
    again('capabilities', async () => {
      const actions = Array.from({ length: 1000 }, (_, i) => `a.n${i}`)
      const { status, body } = await post('/v1/capabilities', { agent_id: 'agent:hostile', actions }, hostile)
      expect({ status, effects: body.data.at(-1).effects }).toEqual({ status: 200, effects: ['deny'] })
    }),
    again('lists', async () => {
      const { status, body } = await server.call('GET', LIST, { key: hostile })
      expect(status).toBe(200)
      expect(JSON.stringify(body).length).toBeLessThan(LIMITS.pageBytes + 100_000)
    }),
    again('looks', async () => {
      most = Math.max(most, await gauge(UNREAD_BYTES))
      longestSeconds = Math.max(longestSeconds, await gauge(LONGEST_PART))
    }),
  ]
  const loaded = await decide()
  isOver = true
  await Promise.all(beside)
  for (const socket of unread) socket.destroy()

  console.log(`beside decisions: ${JSON.stringify(done)}; ${most} bytes unread at most`)
  console.log(`the event loop was kept for ${(longestSeconds * 1000).toFixed(0)} ms at most`)
  for (const [share, name] of [
    [0.5, 'p50'],
    [0.99, 'p99'],
  ] as const) {
    const [before, after] = [at(quiet, share), at(loaded, share)]
    console.log(
      `${name}: ${before.toFixed(0)} ms quiet, ${after.toFixed(0)} ms beside it, ${(after / before).toFixed(1)}x`,
    )
  }
  // One answer may go beyond it: which one does is known when it is there.
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(UNREAD_BYTES_PER_KEY + 2 * LIMITS.pageBytes)
  expect(Object.keys(done).sort()).toEqual(['capabilities', 'lists', 'looks', 'simulations', 'validations'])
}, 120_000)

/** The milliseconds that each decision took, in rising order; all of them are allowed. */
async function decide(): Promise<number[]> {
  const latencies: number[] = []
  const callOn = async (agent: number) => {
    for (let i = 0; i < DECISIONS_EACH; i++) {
      const started = performance.now()
      const { status, body } = await post('/v1/decisions', { agent_id: `agent:${agent}`, action: 'payment.refund' })
      expect({ status, effect: body.effect }).toEqual({ status: 200, effect: 'allow' })
      latencies.push(performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: DECIDERS }, (_, agent) => callOn(agent)))
  return latencies.sort((one, other) => one - other)
}

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] as number

const UNREAD_BYTES = 'countersign_unread_answer_bytes'
/** Since it was read last. */
const LONGEST_PART = 'nodejs_eventloop_lag_max_seconds'

async function gauge(name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

const conditions = () => ({ $or: Array.from({ length: 4200 }, () => ({ 'context.t': { $like: '*b*a*' } })) })
const worstPolicy = () => ({ name: 'worst', rules: [{ action: '*', effect: 'allow', conditions: conditions() }] })
/** To be told for each action. */
const worstCapabilities = () => ({
  name: 'worst capabilities',
  rules: [{ action: '*', effect: 'allow', conditions: { $or: Array(4200).fill({ action: { $like: '*b*a*' } }) } }],
})
const worstSimulation = () => ({
  request: { agent_id: 'agent:hostile', action: 'a.b', context: { t: 'a'.repeat(64_000) } },
  policies: [worstPolicy()],
})
