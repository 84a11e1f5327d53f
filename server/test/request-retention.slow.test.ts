/** What the job of REQUEST_RETENTION_DAYS asks of the store: no run looks at the whole store again. */

import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { HeldRequestFilter } from '#server/ports/store/decisions'
import { Desk } from './api/desk.js'
import { everyItem, succeed } from './api/refunds.js'
import { editedStore } from './edited-store.js'
import { FastIntervals } from './fast-intervals.js'
import { startReceiver } from './feed/webhooks/receiver.js'
import { filesWith } from './process/files-with.js'
import { openStoreWith } from './store-with.js'

const DAY_MS = 86_400_000
const DAYS = 7
const settings = {
  webhookAllowPrivate: true,
  requestRetentionDays: DAYS,
  reviewTtlSeconds: 365 * 86_400,
  approvalTtlSeconds: 30 * 86_400,
}

let asked: HeldRequestFilter[] = []
const openStore = (dataDir: string) =>
  openStoreWith(dataDir, (store) => ({
    decisions: {
      listHeldRequests: (filter, page) => {
        asked.push(filter)
        return store.decisions.listHeldRequests(filter, page)
      },
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

it('erases what endpoints have answered, also in the files of the store', async () => {
  // What no other file holds: the endpoint spells the resource in its own way.
  const answer = Buffer.from('order of Ada Lovelace, 1815').toString('hex')
  const receiver = await startReceiver((_, res) => res.end(answer))
  const body = { url: receiver.url, events: ['decision.created'] }
  const webhook = await succeed(desk.server.call('POST', '/v1/webhooks', { body }))
  const attemptOf = async (id: string) =>
    (await everyItem(desk.server, `/v1/webhooks/${webhook.id}/deliveries`)).find(
      ({ subject, status }) => subject === id && status === 'delivered',
    )?.attempts[0]
  const old = await desk.decide(10)
  desk.clock.advance(2)
  const young = await desk.decide(11)
  for (const { id } of [old, young])
    expect((await until('its delivery', async () => (await attemptOf(id)) ?? undefined)).response).toBe(answer)
  expect(filesWith(desk.server.dataDir, { texts: [answer] })).not.toEqual([])
  desk.clock.advance(DAYS * DAY_MS - 1)
  await erasedByItself(old.id)
  expect([(await attemptOf(old.id)).response, (await attemptOf(young.id)).response]).toEqual([null, answer])
  desk.clock.advance(2)
  await erasedByItself(young.id)
  const isWiped = () => filesWith(desk.server.dataDir, { texts: [answer] }).length === 0 || undefined
  await until('files without the answers', isWiped)
  await receiver.close()
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

it('goes on behind a damaged decision, looks at it again, and says which one it is', async () => {
  const damaged = await desk.decide(10)
  desk.clock.advance(1)
  const sound = await desk.decide(11)
  const store = editedStore(desk.server.dataDir)
  await store.document('decisions', [damaged.id], (document) => Object.assign(document, { id: sound.id }))
  desk.clock.advance(DAYS * DAY_MS + 1)
  await erasedByItself(sound.id)
  await until('the operator to be told', () =>
    desk.server.logged.find(({ fields }) => String((fields as { err?: unknown }).err).includes(damaged.id)),
  )
  await store.undo()
  await erasedByItself(damaged.id)
})
