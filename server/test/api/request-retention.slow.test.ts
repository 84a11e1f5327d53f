/** REQUEST_RETENTION_DAYS: requests are erased by themselves when they are old enough. */
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { FastIntervals } from '../fast-intervals.js'
import { Desk } from './desk.js'
import { everyItem, succeed } from './refunds.js'

const DAY_MS = 86_400_000
const DAYS = 7
const settings = { requestRetentionDays: DAYS, reviewTtlSeconds: 365 * 86_400, approvalTtlSeconds: 30 * 86_400 }

let intervals: FastIntervals
let desk: Desk
beforeEach(async () => {
  intervals = new FastIntervals()
  desk = await Desk.open({ settings })
})
afterEach(() => desk.stop())
afterEach(() => intervals.stop())

const isErased = async (id: string) => (await desk.get(id)).request_erased_at !== undefined
const erasedByItself = (id: string) => until(`the erasure of ${id}`, async () => (await isErased(id)) || undefined)
const erasedOf = async (ids: readonly string[]) => Promise.all(ids.map(isErased))

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
  for (const { id } of [waiting, young]) await erasedByItself(id)
  expect(await isErased(approved.id)).toBe(false)
  expect((await succeed(desk.transition('claim', approved.id, { holder: 'one' }))).permit_token).toBe(
    claimed.permit_token,
  )
  await succeed(desk.transition('confirm', approved.id, { amount: 399 }))
  await erasedByItself(approved.id)
})

it('erases nothing without the setting', async () => {
  const { id } = await desk.decide(10)
  desk.clock.advance(400 * DAY_MS)
  desk.server = await desk.server.restart({ settings: { requestRetentionDays: null } })
  const { ticks } = intervals
  await until('hours', () => intervals.ticks > ticks + 20 || undefined)
  expect(await isErased(id)).toBe(false)
})
