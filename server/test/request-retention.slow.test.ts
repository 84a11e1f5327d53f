/** What the job of REQUEST_RETENTION_DAYS asks of the store: no run looks at the whole store again. */
import type { HeldRequestFilter } from '@countersign/store-port/store'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Desk } from './api/desk.js'
import { succeed } from './api/refunds.js'
import { FastIntervals } from './fast-intervals.js'
import { openStoreWith } from './store-with.js'

const DAY_MS = 86_400_000
const DAYS = 7
const settings = { requestRetentionDays: DAYS, reviewTtlSeconds: 365 * 86_400, approvalTtlSeconds: 30 * 86_400 }

let asked: HeldRequestFilter[] = []
const openStore = (dataDir: string) =>
  openStoreWith(dataDir, (store) => ({
    listHeldRequests: (filter, page) => {
      asked.push(filter)
      return store.listHeldRequests(filter, page)
    },
  }))

let intervals: FastIntervals
let desk: Desk
beforeEach(async () => {
  intervals = new FastIntervals()
  asked = []
  desk = await Desk.open({ settings, parts: { openStore } })
})
afterEach(() => desk.stop())
afterEach(() => intervals.stop())

const isErased = async (id: string) => (await desk.get(id)).request_erased_at !== undefined
const erasedByItself = (id: string) => until(`the erasure of ${id}`, async () => (await isErased(id)) || undefined)
/** The first one may have begun before. */
const twoMoreRuns = () => {
  asked = []
  return until('two more runs', () => asked.length >= 2 || undefined)
}

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
  await twoMoreRuns()
  expect(asked.at(-1)?.evaluated_from).toBe(from)
  await succeed(desk.transition('decline', waiting.id))
  await erasedByItself(waiting.id)
  const before = desk.clock.now().getTime() - DAYS * DAY_MS
  await twoMoreRuns()
  expect(asked.at(-1)).toEqual({
    evaluated_from: new Date(before).toISOString(),
    evaluated_before: new Date(before).toISOString(),
  })
  expect(await Promise.all([old, last, later].map(({ id }) => isErased(id)))).toEqual([true, true, false])
})
