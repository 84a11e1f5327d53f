/** Webhooks whose receiver fails at random, of a server that is killed: every event arrives, and says the same each time. */
import { EVENT_TYPES } from '@countersign/contract'
import { SEED, seededRandom, until } from '@countersign/testkit'
import { Webhook } from 'standardwebhooks'
import { expect } from 'vitest'
import { listAll } from './call.js'
import { CHOSEN_KEY, newDirectory, ShippedServer } from './shipped-server.js'
import { type Answering, Receiver } from './webhook-receivers.js'

const CLIENTS = 8
/** The second attempt comes after 5 s, the third only after 5 minutes: so the same event does not fail twice here. */
const FAILING = 0.3
const ALL_WITHIN_MS = 90_000
const NEEDLE = 'needle-in-the-context'

const receivers: Receiver[] = []

/** For `afterEach`. */
export function closeReceivers(): void {
  for (const receiver of receivers.splice(0)) receiver.close()
}

async function openReceiver(answer?: Answering): Promise<{ readonly receiver: Receiver; readonly url: string }> {
  const receiver = new Receiver(answer)
  receivers.push(receiver)
  return { receiver, url: await receiver.open() }
}

interface Run {
  /** Of the server, besides what the run needs. */
  readonly env?: Readonly<Record<string, string>>
  readonly events: number
  readonly kills: number
}

export async function webhooksOverKills({ env: given = {}, events: eventCount, kills }: Run): Promise<void> {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const failed = new Set<string>()
  const failing: Answering = ({ id }, res) => {
    if (failed.has(id) || random() >= FAILING) res.writeHead(200).end('ok')
    else {
      failed.add(id)
      if (random() < 0.5) res.writeHead(503).end('not now')
      else res.destroy()
    }
  }
  const all = await openReceiver(failing)
  const some = await openReceiver(failing)
  const hanging = await openReceiver(() => {})

  const dataDir = newDirectory()
  const env = { ...given, WEBHOOK_ALLOW_PRIVATE: '1', MAX_OPEN_REVIEWS: '1000000', MAX_OPEN_REVIEWS_PER_KEY: '1000000' }
  let server = await ShippedServer.start({ dataDir, env })
  const outputs: string[] = []
  const secrets: string[] = []
  let since = ''
  for (const [{ receiver, url }, events] of [
    [all, null],
    [some, ['decision.confirmed']],
    [hanging, null],
  ] as const) {
    const { status, body } = await server.call('POST', '/v1/webhooks', { body: { url, events } })
    expect(status).toBe(201)
    receiver.verifier = new Webhook(body.secret)
    secrets.push(body.secret)
    since ||= body.created_at
  }
  await writePolicy(server)

  const perKill = Math.ceil(eventCount / kills / 2)
  for (let kill = 0; kill < kills; kill += 1) {
    const target = server
    // The load leads to more than this, however slow it is: each of its decisions is an event.
    const wanted = all.receiver.received.length + 1 + Math.floor(random() * Math.min(60, perKill / 2))
    const load = Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let i = 0; i < perKill / CLIENTS; i += 1) await decideAndConfirm(target, `${kill}-${client}-${i}`, random)
      }),
    )
    // In the middle of it, or of what is sent after it.
    if (kill % 2 === 0) await load
    await until('further deliveries', () => (all.receiver.received.length >= wanted ? true : undefined), ALL_WITHIN_MS)
    server.process.kill('SIGKILL')
    await server.end()
    await load
    outputs.push(server.stdout, server.stderr)
    console.log(`kill ${kill}: ${all.receiver.received.length} deliveries so far`)
    server = await ShippedServer.start({ dataDir, env })
  }

  const entries = (await listAll(server.url, `/v1/audit?from=${since}`, CHOSEN_KEY)).filter(({ type }) =>
    EVENT_TYPES.includes(type),
  )
  const missing = (receiver: Receiver, types: (type: string) => boolean) => {
    const { ids } = receiver
    return entries.filter(({ id, type }) => types(type) && !ids.has(`evt_${id.slice(4)}`))
  }
  const started = performance.now()
  await until(
    'every event',
    () =>
      missing(all.receiver, () => true).length +
        missing(some.receiver, (type) => type === 'decision.confirmed').length ===
      0
        ? true
        : undefined,
    ALL_WITHIN_MS,
  )
  const seconds = ((performance.now() - started) / 1000).toFixed(1)

  // A denied or reviewed decision has a second event.
  const withSecond = entries.filter(({ type, data }) => type === 'decision.created' && /deny|review/.test(data.effect))
  await until(
    'every second event',
    () => {
      const told = all.receiver.received.filter(({ body }) => /denied|review_requested/.test(body.type))
      return new Set(told.map(({ id }) => id)).size === withSecond.length ? true : undefined
    },
    ALL_WITHIN_MS,
  )

  for (const { receiver } of [all, some]) {
    expect(receiver.faults).toEqual([])
    expect(receiver.verified).toBe(receiver.received.length)
    const texts = new Map<string, string>()
    for (const { id, text } of receiver.received) expect(texts.get(id) ?? text).toBe(text)
    for (const { id, text } of receiver.received) texts.set(id, text)
  }
  expect(some.receiver.received.every(({ body }) => body.type === 'decision.confirmed')).toBe(true)
  for (const { body } of all.receiver.received.filter(({ body: { type } }) => type.startsWith('decision.')))
    expect(body.sequence).toEqual(/created|denied|review_requested/.test(body.type) ? 1 : expect.any(Number))

  const deliveries = await Promise.all(
    (await listAll(server.url, '/v1/webhooks', CHOSEN_KEY)).map(({ id }) =>
      listAll(server.url, `/v1/webhooks/${id}/deliveries`, CHOSEN_KEY),
    ),
  )
  const said = [
    ...receivers.flatMap(({ received }) => received.map(({ text }) => text)),
    ...outputs,
    JSON.stringify(deliveries),
  ].join('\n')
  for (const secret of [...secrets, CHOSEN_KEY, NEEDLE, 'permit_token', 'eyJ']) expect(said).not.toContain(secret)
  const repeated = all.receiver.received.length - all.receiver.ids.size
  console.log(
    `${all.receiver.ids.size} events to one endpoint, ${repeated} of their deliveries repeated, all there ${seconds} s after the last start`,
  )
  await server.stop()
}

async function writePolicy(server: ShippedServer): Promise<void> {
  const amount = (limit: number) => ({ conditions: { 'context.amount': { $lte: limit } } })
  const rules = [
    { action: 'pay', effect: 'allow', ...amount(80) },
    { action: 'pay', effect: 'review', ...amount(90) },
    { action: 'pay', effect: 'deny' },
  ]
  expect((await server.call('POST', '/v1/policies', { body: { name: 'pays', rules } })).status).toBe(201)
}

/** What the killed server does not answer does not matter: its log tells what was done. */
async function decideAndConfirm(server: ShippedServer, name: string, random: () => number): Promise<void> {
  try {
    const context = { amount: Math.floor(random() * 100), note: NEEDLE }
    const body = { agent_id: 'agent:a', action: 'pay', context }
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
