/** What the metrics tell of the store: right after a restart too, and never a reason to wait. */
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { startReceiver } from '../feed/webhooks/receiver.js'
import { type RunningServer, type RunningServerOptions, runServer } from '../running-server.js'
import { sampleIn, scrape } from '../scrape.js'
import { openStoreWith } from '../store-with.js'
import { signInWith } from './browser-session.js'
import { FaultyStore } from './faulty-store.js'
import { ALLOWED, createPolicy, decide, REFUNDS, REVIEWED, succeed } from './refunds.js'

let server: RunningServer
afterEach(() => server.stop())

async function run({ settings, parts, ...options }: RunningServerOptions = {}): Promise<void> {
  server = await runServer({
    ...options,
    settings: { rateLimitPerSecond: 0, ...settings },
    parts: { measureEveryMs: 50, ...parts },
  })
}

/** Waits until a series has this value. */
function shows(series: string, value: number | undefined): Promise<true> {
  return until(`${series} ${value}`, async () =>
    sampleIn(await scrape(server), series) === value ? (true as const) : undefined,
  )
}

/** Waits until a series has a value, and returns it. */
function valueSoon(series: string): Promise<number> {
  return until(series, async () => sampleIn(await scrape(server), series))
}

const MINUTE_MS = 60_000
const LAGS = ['budget_alarms', 'statistics', 'trees'].map((part) => `countersign_feed_lag_seconds{part="${part}"}`)

const OF_REVIEWS = ['countersign_reviews_waiting', 'countersign_oldest_review_age_seconds']

describe('reviews', () => {
  it('are counted while they wait, with the age of the oldest, over a restart', async () => {
    await run({ settings: { reviewTtlSeconds: 600 } })
    await createPolicy(server, REFUNDS)
    await shows('countersign_reviews_waiting', 0)
    await shows('countersign_oldest_review_age_seconds', 0)
    const first = await decide(server, REVIEWED)
    server.clock.advance(2 * MINUTE_MS)
    await decide(server, REVIEWED)
    await decide(server, ALLOWED)
    server.clock.advance(MINUTE_MS)
    await shows('countersign_reviews_waiting', 2)
    await shows('countersign_oldest_review_age_seconds', 180)

    server = await server.restart()
    await shows('countersign_reviews_waiting', 2)
    await shows('countersign_oldest_review_age_seconds', 180)
    await succeed(server.call('POST', `/v1/decisions/${first.id}/approve`))
    await shows('countersign_reviews_waiting', 1)
    await shows('countersign_oldest_review_age_seconds', 60)
    // Nothing has recorded yet that it is over.
    server.clock.advance(9 * MINUTE_MS)
    await shows('countersign_reviews_waiting', 0)
    await shows('countersign_oldest_review_age_seconds', 0)
  })
})

describe('budgets', () => {
  const NEARLY = 'countersign_budgets_nearly_used'
  const spending = (action: string, budget: object) => ({
    name: action,
    rules: [{ action, effect: 'allow' }],
    budget: { limit: 100, unit: 'EUR', period: 'monthly', ...budget },
  })
  async function spend(action: string, amount: number, agent_id = 'agent:a') {
    const decision = await decide(server, { agent_id, action, context: { amount } })
    expect(decision).toMatchObject({ status: 'authorized', budgets: [{ reserved: true }] })
    return decision
  }
  const register = (id: string) => succeed(server.call('POST', '/v1/agents', { body: { id } }))

  it('are counted from 80 % on, each account by itself, until their period ends', async () => {
    await run()
    await shows(NEARLY, 0)
    for (const id of ['agent:a', 'agent:b', 'agent:c']) await register(id)
    await createPolicy(server, spending('pay.shared', {}))
    await createPolicy(server, spending('pay.own', { scope: 'agent' }))
    await createPolicy(server, spending('pay.total', { period: 'total' }))
    await spend('pay.shared', 79.999999)
    await spend('pay.own', 80, 'agent:a')
    await shows(NEARLY, 1)
    await spend('pay.own', 79, 'agent:b')
    await spend('pay.own', 100, 'agent:c')
    await shows(NEARLY, 2)
    await spend('pay.shared', 0.000001)
    await shows(NEARLY, 3)
    const { id } = await spend('pay.total', 90)
    await shows(NEARLY, 4)

    server = await server.restart()
    await shows(NEARLY, 4)
    await succeed(server.call('POST', `/v1/decisions/${id}/reject`))
    await shows(NEARLY, 3)
    server.clock.advance(31 * 24 * 60 * MINUTE_MS)
    await shows(NEARLY, 0)
  })

  it('are counted over many accounts, a share at a time', async () => {
    await run()
    await register('agent:a')
    // More budgets of single agents than one measurement looks at.
    for (let i = 0; i < 30; i += 1) await createPolicy(server, spending(`pay.of-${i}`, { scope: 'agent' }))
    await Promise.all(Array.from({ length: 30 }, (_, i) => spend(`pay.of-${i}`, i < 12 ? 85 : 5)))
    await shows(NEARLY, 12)
  })
})

describe('the lag of the feed', () => {
  it('is 0 for what is done, grows while the feed cannot save, and ends by itself', async () => {
    const store = new FaultyStore()
    await run({ parts: { openStore: store.open } })
    await createPolicy(server, REFUNDS)
    for (const lag of LAGS) await shows(lag, 0)
    server.clock.advance(MINUTE_MS)
    for (const lag of LAGS) await shows(lag, 0)
    store.faults.set('readers.save', new StoreUnavailableError('The disk is full.'))
    await decide(server, ALLOWED)
    server.clock.advance(2 * MINUTE_MS)
    // At least: an entry from before may be unsaved, too.
    const isLate = async (lag: string) => (sampleIn(await scrape(server), lag) ?? 0) >= 120 || undefined
    for (const lag of LAGS) await until(`${lag} of two minutes`, () => isLate(lag))
    store.faults.clear()
    for (const lag of LAGS) await shows(lag, 0)
  })

  it('tells how long the oldest event of an enabled webhook waits, over a restart', async () => {
    const receiver = await startReceiver((_, res) => void res.writeHead(503, { 'Retry-After': '86400' }).end())
    const LAG = 'countersign_webhook_lag_seconds'
    try {
      await run({ settings: { webhookAllowPrivate: true } })
      await createPolicy(server, REFUNDS)
      await shows(LAG, 0)
      const body = { url: receiver.url, events: ['decision.created'] }
      const { id } = await succeed(server.call('POST', '/v1/webhooks', { body }))
      server.clock.advance(MINUTE_MS)
      await decide(server, ALLOWED)
      await until('an attempt', () => (receiver.received.length > 0 ? true : undefined))
      server.clock.advance(MINUTE_MS)
      await decide(server, ALLOWED)
      server.clock.advance(MINUTE_MS)
      await shows(LAG, 120)
      server = await server.restart()
      await shows(LAG, 120)
      await succeed(server.call('PUT', `/v1/webhooks/${id}`, { body: { ...body, enabled: false } }))
      await shows(LAG, 0)
    } finally {
      await receiver.close()
    }
  })
})

it('the age of the newest checkpoint is the time since it was signed, over a restart', async () => {
  await run()
  await createPolicy(server, REFUNDS)
  const AGE = 'countersign_checkpoint_age_seconds'
  await shows(AGE, 0)
  server.clock.advance(MINUTE_MS)
  await shows(AGE, 60)
  await decide(server, ALLOWED)
  await shows(AGE, 0)
  server.clock.advance(MINUTE_MS)
  server = await server.restart()
  const { data } = await succeed(server.call('GET', '/v1/audit/checkpoints'))
  const created_at = data
    .map((one: { readonly created_at: string }) => one.created_at)
    .sort()
    .at(-1)
  server.clock.advance(MINUTE_MS)
  await shows(AGE, (server.clock.now().getTime() - Date.parse(created_at)) / 1000)
})

it('sessions of the dashboard count until they end', async () => {
  await run()
  const SESSIONS = 'countersign_dashboard_sessions'
  expect(await valueSoon(SESSIONS)).toBe(0)
  const one = await signInWith(server)
  await signInWith(server)
  expect(await valueSoon(SESSIONS)).toBe(2)
  await one.send('DELETE', '/dashboard/session')
  expect(await valueSoon(SESSIONS)).toBe(1)
  server = await server.restart()
  expect(await valueSoon(SESSIONS)).toBe(1)
  server.clock.advance(12 * 60 * MINUTE_MS)
  expect(await valueSoon(SESSIONS)).toBe(0)
})

it('every decision that may be denied begins with 0, so that the first one is an increase', async () => {
  await run()
  expect(await valueSoon('countersign_decisions_total{effect="deny",reason_code="evaluation_error"}')).toBe(0)
  expect(await valueSoon('countersign_decisions_total{effect="allow",reason_code="rule_matched"}')).toBe(0)
})

describe('while the store fails', () => {
  it('counts commits that failed, and says that the server is not ready', async () => {
    const store = new FaultyStore()
    await run({ parts: { openStore: store.open } })
    await createPolicy(server, REFUNDS)
    await shows('countersign_ready', 1)
    const FAILURES = 'countersign_store_commit_failures_total'
    expect(await valueSoon(FAILURES)).toBe(0)
    const down = new StoreUnavailableError('The disk is full.')
    store.commit = () => Promise.reject(down)
    store.faults.set('ping', down)
    expect((await server.call('POST', '/v1/decisions', { body: ALLOWED })).status).toBe(503)
    expect(await valueSoon(FAILURES)).toBeGreaterThan(0)
    await shows('countersign_ready', 0)
    store.commit = null
    store.faults.clear()
    await shows('countersign_ready', 1)
  })

  it('shows the last values for half a minute, then none, while calls of the store do not end', async () => {
    let isHeld = false
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const openStore = (dataDir: string) =>
      openStoreWith(dataDir, (store) => ({
        decisions: {
          async measureReviews(now) {
            if (isHeld) await held
            return store.decisions.measureReviews(now)
          },
        },
        async ping() {
          if (isHeld) await held
          return store.ping()
        },
      }))
    await run({ parts: { openStore } })
    for (const series of OF_REVIEWS) await shows(series, 0)
    isHeld = true
    await shows('countersign_ready', 0)
    for (const series of OF_REVIEWS) expect(sampleIn(await scrape(server), series)).toBe(0)
    const real = performance.now.bind(performance)
    const later = vi.spyOn(performance, 'now').mockImplementation(() => real() + 31_000)
    try {
      const text = await scrape(server)
      for (const series of OF_REVIEWS) expect(sampleIn(text, series)).toBeUndefined()
      expect(text).toContain('countersign_dashboard_sessions 0\n')
    } finally {
      later.mockRestore()
      release()
    }
  })
})
