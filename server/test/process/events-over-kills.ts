/** A reader of live events goes on over kills of the server: each change once, those of a decision in order. */
import { Countersign } from '@countersign/client'
import { LIVE_TYPES } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { expect } from 'vitest'
import { listAll } from './call.js'
import { CHOSEN_KEY, newDirectory, ShippedServer } from './shipped-server.js'

const RESTARTS = 3
const CLIENTS = 6
const DECISIONS = 120

export async function eventsOverKills(env: Readonly<Record<string, string>> = {}): Promise<void> {
  const dataDir = newDirectory()
  let server = await ShippedServer.start({ dataDir, env })
  const { port } = new URL(server.url)
  const rules = [
    { action: 'pay', effect: 'allow', conditions: { 'context.amount': { $lte: 50 } } },
    { action: 'pay', effect: 'deny' },
  ]
  await server.call('POST', '/v1/policies', { body: { name: 'pays', rules } })

  const client = new Countersign({ baseUrl: server.url, apiKey: CHOSEN_KEY })
  const leaving = new AbortController()
  const seen: { readonly id: string; readonly type: string; readonly subject: string; readonly sequence: number }[] = []
  let isConnected = false
  const reading = (async () => {
    const events = client.events({ signal: leaving.signal })
    isConnected = true
    for await (const { id, type, sequence, data } of events)
      seen.push({ id, type, subject: data.id, sequence: sequence as number })
  })()
  await until('the reader', () => (isConnected ? true : undefined))
  // Until the first event has come, the stream may not be open yet: what is before it is not sent.
  const marker = async () => decide(server, `marker-${seen.length}-${performance.now()}`, 1)
  await until('the first event', async () => {
    await marker()
    return seen.length > 0 ? true : undefined
  })

  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const target = server
    const load = Promise.all(
      Array.from({ length: CLIENTS }, async (_, one) => {
        for (let i = 0; i < DECISIONS / CLIENTS; i += 1) await decide(target, `${restart}-${one}-${i}`, (7 * i) % 100)
      }),
    )
    const wanted = seen.length + DECISIONS / 2
    await until('events', () => (seen.length >= wanted ? true : undefined))
    server.process.kill('SIGKILL')
    await server.end()
    await load
    server = await ShippedServer.start({ dataDir, env: { ...env, PORT: port } })
  }

  const entries = (await listAll(server.url, '/v1/audit', CHOSEN_KEY)).toReversed()
  const changes = entries
    .filter(({ type }) => LIVE_TYPES.includes(type))
    .map((entry) => keyOf({ ...entry, sequence: entry.data.version }))
  const told = changes.slice(changes.indexOf(keyOf(seen[0] as Seen)))
  await until('the last event', () => (seen.length >= told.length ? true : undefined))
  expect(seen.map(keyOf).toSorted()).toEqual(told.toSorted())
  for (const subject of new Set(seen.map((event) => event.subject))) {
    const sequence = seen.filter((event) => event.subject === subject).map((event) => event.sequence)
    const start = sequence[0] as number
    expect(sequence).toEqual(sequence.map((_, i) => start + i))
  }
  console.log(`${seen.length} events over ${RESTARTS} kills`)
  leaving.abort()
  await reading
  await server.stop()
}

interface Seen {
  readonly id: string
  readonly type: string
  readonly subject: string
  readonly sequence: number
}

function keyOf({ type, subject, sequence }: Omit<Seen, 'id'>): string {
  return `${subject} ${sequence} ${type}`
}

/** What the killed server does not answer does not matter: its log tells what was done. */
async function decide(server: ShippedServer, name: string, amount: number): Promise<void> {
  try {
    const body = { agent_id: 'agent:a', action: 'pay', context: { amount } }
    const { body: decision } = await server.call('POST', '/v1/decisions', {
      body,
      headers: { 'Idempotency-Key': name },
    })
    if (decision.status === 'authorized')
      await server.call('POST', `/v1/decisions/${decision.id}/confirm`, { body: {} })
  } catch {
    // It was killed.
  }
}
