/** RETENTION_DAYS: decisions that are closed for good go; what is left, and what the audit log tells, still adds up. */
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { leafHash } from '@countersign/audit-log'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { editedStore } from '../edited-store.js'
import { startReceiver } from '../feed/webhooks/receiver.js'
import { filesWith } from '../process/files-with.js'
import { type Answer, FROZEN, type RunningServer, runServer } from '../running-server.js'
import { openStoreWith } from '../store-with.js'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const DAYS = 40
const CUSTOMER = 'Ada Lovelace of 1815'

let server: RunningServer
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  // Every timer counts here, that which writes what the clock has ended, too.
  const parts = { expireEveryMs: 1000 }
  server = await runServer({ parts, settings: { retentionDays: DAYS, reviewTtlSeconds: 365 * 86_400 } })
})
afterEach(async () => {
  await server.stop()
  vi.useRealTimers()
})

/** With a key: where several servers share a store this one may have to be asked again, once a timer has let it look. */
async function post(path: string, body: object, key: string = randomUUID()): Promise<Answer['body']> {
  vi.advanceTimersByTime(1000)
  const answer = await server.call('POST', path, { body, headers: { 'Idempotency-Key': key } })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

async function withBudget(period: string): Promise<string> {
  const rules = [
    { action: 'pay.create', effect: 'allow' },
    { action: 'ask.create', effect: 'review' },
  ]
  return (await post('/v1/policies', { name: period, rules, budget: { limit: 1000, unit: 'EUR', period } })).id
}

function decide(action: string, amount = 1): Promise<Answer['body']> {
  return post('/v1/decisions', { agent_id: 'agent:a', action, context: { amount, customer: CUSTOMER } })
}

/** As in `post`, a timer lets the server look first. */
async function get(path: string): Promise<Answer> {
  vi.advanceTimersByTime(1000)
  return server.call('GET', path)
}

const statusOf = async (id: string) => (await get(`/v1/decisions/${id}`)).status

/** A sweep has many steps, and on a busy machine each of them waits. */
const SWEEP_MS = 120_000

/** Lets the timers run until a decision is gone, which is older than all that are to stay. */
async function sweptAway(id: string): Promise<void> {
  const isGone = async () => {
    vi.advanceTimersByTime(HOUR_MS)
    return (await statusOf(id)) === 404 ? true : undefined
  }
  await until(`the removal of ${id}`, isGone, SWEEP_MS)
}

/** A decision that the run removes last says that it has been. */
async function sweep(): Promise<void> {
  const last = await decide('none.asked')
  server.clock.advance(DAYS * DAY_MS + 1)
  await sweptAway(last.id)
}

describe('retention', () => {
  it('removes what is denied, confirmed, rejected or expired, and keeps the entries and the account', async () => {
    const policy = await withBudget('monthly')
    const [confirmed, rejected, silent] = [
      await decide('pay.create', 10),
      await decide('pay.create', 20),
      await decide('pay.create', 30),
    ]
    await post(`/v1/decisions/${confirmed.id}/confirm`, { amount: 5 })
    await post(`/v1/decisions/${rejected.id}/reject`, {})
    server.clock.advance(HOUR_MS)
    await until('the end of the silent one', async () => {
      return (await get('/v1/audit?type=decision.expired')).body.data?.[0]
    })
    await sweep()
    // What was settled a moment ago may have been left to the next run.
    for (const { id } of [confirmed, rejected, silent]) await sweptAway(id)
    expect((await get('/v1/decisions')).body.data).toEqual([])
    // SQLite alone leaves there what it has removed.
    const isWiped = () => filesWith(server.dataDir, { texts: [CUSTOMER] }).length === 0 || undefined
    await until('files without the requests', isWiped)

    const entries = (await get('/v1/audit?limit=200')).body.data
    expect(entries.map(({ index }: { index: number }) => index).reverse()).toEqual([...entries.keys()])
    for (const entry of entries) expect(leafHash(entry)).toBe(entry.leaf)
    const [account] = (await get(`/v1/policies/${policy}/budget/history`)).body.data
    expect(account).toMatchObject({ spent: 35, reserved: 0 })
    // What the log says was committed adds up to the account without the decisions.
    const committed = entries.flatMap(({ data }: Answer['body']) => data.committed ?? [])
    expect(committed.reduce((sum: number, { amount }: { amount: number }) => sum + amount, 0)).toBe(account.spent)
    expect((await server.call('POST', `/v1/decisions/${confirmed.id}/confirm`, { body: {} })).status).toBe(404)
  })

  it('removes what endpoints have answered to events of what it removes', async () => {
    const receiver = await startReceiver(({ body }, res) => res.end(body))
    await server.stop()
    const parts = { expireEveryMs: 1000 }
    server = await runServer({ parts, settings: { retentionDays: 5, webhookAllowPrivate: true } })
    await post('/v1/policies', { name: 'p', rules: [{ action: 'pay.create', effect: 'allow' }] })
    const webhook = await post('/v1/webhooks', { url: receiver.url, events: ['decision.confirmed'] })
    const answered = async (decision: string) =>
      (await get(`/v1/webhooks/${webhook.id}/deliveries`)).body.data?.find(
        ({ subject, status }: Answer['body']) => subject === decision && status === 'delivered',
      )?.attempts[0]
    const { id } = await decide('pay.create')
    // As late as it can be: the delivery would stay for 30 days more.
    server.clock.advance(29 * DAY_MS)
    await post(`/v1/decisions/${id}/confirm`, {})
    const before = await until('its delivery', async () => (await answered(id)) ?? undefined)
    expect(before.response).toContain(id)
    server.clock.advance(2 * DAY_MS)
    await sweptAway(id)
    expect(await answered(id)).toEqual({ ...before, response: null })
    await receiver.close()
  })

  it('keeps what counts in an account whose period goes on, and removes it once that is over', async () => {
    const [total, yearly] = [await withBudget('total'), await withBudget('yearly')]
    const counted = await decide('pay.create', 7)
    const given = await decide('pay.create', 8)
    await post(`/v1/decisions/${given.id}/reject`, {})
    await sweep()
    await sweptAway(given.id)
    expect(await statusOf(counted.id)).toBe(200)
    for (const policy of [total, yearly])
      expect((await server.call('DELETE', `/v1/policies/${policy}`)).status).toBeLessThan(300)

    // Another year: `total` goes on.
    server.clock.advance(2 * DAY_MS)
    expect(FROZEN.getUTCFullYear()).toBeLessThan(server.clock.now().getUTCFullYear())
    await withBudget('yearly')
    const thisYear = await decide('pay.create', 9)
    await sweep()
    expect(await statusOf(thisYear.id)).toBe(200)
    server.clock.advance(365 * DAY_MS)
    await sweptAway(thisYear.id)
    expect(await statusOf(counted.id)).toBe(200)
  })

  it('keeps what is younger, waits, can still be settled, or has just been corrected by a call with a key', async () => {
    await withBudget('hourly')
    const old = await decide('pay.create')
    const waiting = await decide('ask.create')
    server.clock.advance(1)
    const young = await decide('pay.create')
    server.clock.advance(DAYS * DAY_MS)
    await sweptAway(old.id)
    expect(await statusOf(young.id)).toBe(200)
    expect(await statusOf(waiting.id)).toBe(200)
    // Its end is a moment ago: it can be settled for 30 days from now.
    await post(`/v1/decisions/${waiting.id}/approve`, {})
    await post(`/v1/decisions/${waiting.id}/claim`, {})
    await post(`/v1/decisions/${waiting.id}/confirm`, {})
    server.clock.advance(29 * DAY_MS)
    await sweptAway(young.id)
    expect(await statusOf(waiting.id)).toBe(200)
    await post(`/v1/decisions/${waiting.id}/confirm`, {}, 'once')
    server.clock.advance(DAY_MS)
    const replay = await post(`/v1/decisions/${waiting.id}/confirm`, {}, 'once')
    expect(replay.id).toBe(waiting.id)
    server.clock.advance(2 * DAY_MS)
    await sweptAway(waiting.id)
  })

  it('goes on while the row of a webhook is damaged', async () => {
    const webhook = await post('/v1/webhooks', { url: 'https://example.com/hooks', events: ['policy.created'] })
    const store = editedStore(server.dataDir)
    await store.document('webhooks', [webhook.id], (document) => Object.assign(document, { version: 7 }))
    await store.close()
    const { id } = await decide('pay.create')
    // What the webhook may still have to read is kept for 30 days more.
    server.clock.advance((DAYS + 31) * DAY_MS)
    await sweptAway(id)
  })

  it('goes on behind a server that has stopped', async () => {
    await sweep()
    server = await server.restart()
    await sweep()
  })

  it('removes nothing without the setting', async () => {
    server = await server.restart({ settings: { retentionDays: null } })
    const denied = await decide('none.asked')
    server.clock.advance(400 * DAY_MS)
    vi.advanceTimersByTime(10 * HOUR_MS)
    // Stopping waits for what the timers have begun.
    server = await server.restart({ settings: { retentionDays: null } })
    expect(await statusOf(denied.id)).toBe(200)
  })
})

it('what is not removed when the server stops is left to the next start', async () => {
  let removed = 0
  const purgeIdempotency = async () => {
    await setImmediate()
    removed += 1
    return 1
  }
  const openStore = (dataDir: string) => openStoreWith(dataDir, () => ({ idempotency: { purge: purgeIdempotency } }))
  await server.stop()
  server = await runServer({ parts: { openStore } })
  vi.advanceTimersByTime(MINUTE_MS)
  await until('removals', () => (removed > 10 ? true : undefined))
})
