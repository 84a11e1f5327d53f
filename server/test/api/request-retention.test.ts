/** REQUEST_RETENTION_DAYS: requests are erased by themselves when they are old enough. */
import type { HeldRequestFilter } from '@countersign/store-port/store'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openStoreWith } from '../store-with.js'
import { Desk } from './desk.js'
import { everyItem, succeed } from './refunds.js'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const DAYS = 7

let desk: Desk
/** What the job has asked the store for. */
let asked: HeldRequestFilter[]
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  asked = []
  const openStore = (dataDir: string) =>
    openStoreWith(dataDir, (store) => ({
      listHeldRequests: (filter, page) => {
        asked.push(filter)
        return store.listHeldRequests(filter, page)
      },
    }))
  desk = await Desk.open({
    settings: { requestRetentionDays: DAYS, reviewTtlSeconds: 365 * 86_400, approvalTtlSeconds: 30 * 86_400 },
    parts: { openStore },
  })
})
afterEach(async () => {
  await desk.stop()
  vi.useRealTimers()
})

const isErased = async (id: string) => (await desk.get(id)).request_erased_at !== undefined
const erasedOf = async (ids: readonly string[]) => Promise.all(ids.map(isErased))

/** Lets the timers run until the request of a decision is erased that is older than all that are to stay. */
async function erasedByItself(id: string): Promise<void> {
  await until(`the erasure of ${id}`, async () => {
    vi.advanceTimersByTime(HOUR_MS)
    return (await isErased(id)) || undefined
  })
}

it('erases what is older, and keeps what is younger or still open', async () => {
  const [old, confirmed, waiting] = [await desk.decide(10), await desk.decide(11), await desk.decide(400)]
  const approved = await desk.approved(401)
  await succeed(desk.transition('confirm', confirmed.id, { amount: 10.5 }))
  desk.clock.advance(1)
  const young = await desk.decide(12)
  desk.clock.advance(DAYS * DAY_MS)
  const account = await desk.account()
  const ids = [confirmed, old, waiting, approved, young].map(({ id }) => id)
  await erasedByItself(old.id)
  expect(await erasedOf(ids)).toEqual([true, true, false, false, false])
  const [entry] = await everyItem(desk.server, `/v1/audit?decision_id=${confirmed.id}`)
  expect(entry).toMatchObject({ type: 'request.erased', actor: null, data: { version: 3 } })
  expect((await desk.account()).spent).toBe(account.spent)

  // What is claimed gets its permit, as long as it may run.
  const claimed = await succeed(desk.transition('claim', approved.id, { holder: 'one' }))
  await succeed(desk.transition('decline', waiting.id))
  desk.clock.advance(1)
  await erasedByItself(waiting.id)
  expect(await erasedOf(ids)).toEqual([true, true, true, false, true])
  expect((await succeed(desk.transition('claim', approved.id, { holder: 'one' }))).permit_token).toBe(
    claimed.permit_token,
  )
  await succeed(desk.transition('confirm', approved.id, { amount: 399 }))
  await erasedByItself(approved.id)
})

it('begins where the first request was left, and not from the start of the store', async () => {
  const old = await desk.decide(10)
  desk.clock.advance(DAY_MS)
  const waiting = await desk.decide(400)
  const from = desk.clock.now().toISOString()
  const last = await desk.decide(11)
  desk.clock.advance(DAYS * DAY_MS)
  const later = await desk.decide(12)
  desk.clock.advance(1)
  await erasedByItself(last.id)
  expect(asked[0]).toEqual({ evaluated_before: expect.any(String) })
  // A run that has been through says where the next one begins.
  asked = []
  await until('two more runs', () => {
    vi.advanceTimersByTime(HOUR_MS)
    return asked.length >= 2 || undefined
  })
  expect(asked.at(-1)?.evaluated_from).toBe(from)
  await succeed(desk.transition('decline', waiting.id))
  await erasedByItself(waiting.id)
  asked = []
  const before = desk.clock.now().getTime() - DAYS * DAY_MS
  await until('two more runs', () => {
    vi.advanceTimersByTime(HOUR_MS)
    return asked.length >= 2 || undefined
  })
  expect(asked.at(-1)).toEqual({
    evaluated_from: new Date(before).toISOString(),
    evaluated_before: new Date(before).toISOString(),
  })
  expect(await erasedOf([old.id, last.id, later.id])).toEqual([true, true, false])
})

it('erases nothing without the setting', async () => {
  const { id } = await desk.decide(10)
  desk.clock.advance(400 * DAY_MS)
  desk.server = await desk.server.restart({ settings: { requestRetentionDays: null } })
  asked = []
  vi.advanceTimersByTime(10 * HOUR_MS)
  expect(await isErased(id)).toBe(false)
  expect(asked).toEqual([])
})
