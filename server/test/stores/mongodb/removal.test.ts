/** What is removed, by whom, and that nothing comes of it later: decisions that are closed for good, and tombstones. */

import { until } from '@countersign/testkit'
import { type Collection, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { Database } from '#server/stores/mongodb/connection/database'
import { MongoStore } from '#server/stores/mongodb/mongo-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import type { DecisionDocument } from '#server/stores/mongodb/stored'
import {
  accountOf,
  createOf,
  DAY,
  decisionOf,
  heldIn,
  idempotencyOf,
  instant,
  LogPen,
  requestOf,
  spentIn,
  updateOf,
  WHOLE,
} from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const NAME = `countersign-removal-${process.pid}`
const DAY_MS = 1000 * DAY
const MINUTE_MS = 60_000

const client = new MongoClient(mongoUrl(NAME))
afterAll(() => client.close())
const documents = (): Collection<DecisionDocument> => client.db(NAME).collection('decisions')

const account = accountOf()

let store: MongoStore
beforeEach(async () => {
  store = await openMongoStore({ url: mongoUrl(NAME) })
})
afterEach(async () => {
  await store.close()
  await dropDatabase(NAME)
})

it('the marks of reservations and settlements go with the decision, what it counted for stays', async () => {
  const pen = await LogPen.of(store)
  const decisions = [
    decisionOf(1, { postings: [heldIn(account, 10n)] }),
    decisionOf(2, { postings: [heldIn(account, 5n)] }),
  ]
  for (const decision of decisions) {
    const demands = [{ account, amount: BigInt(decision.postings[0]?.amount ?? 0), limit: 100n }]
    const { reservation } = await store.ledger.reserve({ decision_id: decision.id, version: 0, demands })
    await pen.commit(createOf(decision, undefined, reservation))
    const [{ amount } = { amount: '0' }] = decision.postings
    const settled = updateOf(decision, { status: 'confirmed', postings: [spentIn(account, BigInt(amount), 4n)] })
    await pen.commit(settled)
    await until('the removal', async () =>
      (await store.decisions.remove([settled.decision], instant(DAY))) === 1 ? true : undefined,
    )
    expect(await store.decisions.get(decision.id)).toBeNull()
  }
  const sum = { spent: '8', reserved: '0' }
  expect(await store.accounts.get([account])).toMatchObject([sum])
  await store.recover(0)
  expect(await store.accounts.get([account])).toMatchObject([sum])
  expect(await store.ledger.balances([account])).toEqual([{ spent: 8n, reserved: 0n }])
  expect((await store.openLog()).next_index).toBe(4)
})

/** The store as a process sees it whose clock is ahead. */
async function recoverAfter(ms: number): Promise<void> {
  const database = await Database.open(mongoUrl(NAME))
  const other = new MongoStore(database, () => Date.now() + ms)
  await other.recover()
  await other.close()
}

const ask = (number: number) => ({
  decision_id: decisionOf(number).id,
  version: 0,
  demands: [{ account, amount: 7n, limit: 10n }],
})
const balance = async () => (await store.ledger.balances([account]))[0]

describe('a tombstone', () => {
  it('stays a day in the place of a decision that never came, and goes', async () => {
    const { reservation } = await store.ledger.reserve(ask(1))
    expect(await balance()).toEqual({ spent: 0n, reserved: 7n })
    await recoverAfter(MINUTE_MS)
    expect(await balance()).toEqual({ spent: 0n, reserved: 0n })
    expect(await documents().findOne()).toMatchObject({ _id: decisionOf(1).id, is_void: true })

    // A slow process comes too late.
    const pen = await LogPen.of(store)
    const create = createOf(decisionOf(1, { postings: [heldIn(account, 7n)] }), requestOf(1), reservation)
    expect(await pen.commit(create)).toEqual({ written: 0, conflict: 'voided' })
    await recoverAfter(DAY_MS - MINUTE_MS)
    expect(await documents().countDocuments()).toBe(1)
    await recoverAfter(DAY_MS + MINUTE_MS)
    expect(await documents().countDocuments()).toBe(0)
    expect(await balance()).toEqual({ spent: 0n, reserved: 0n })
  })

  it('goes by itself, beside decisions of any age', async () => {
    const pen = await LogPen.of(store)
    const ends = ['authorized', 'denied', 'expired'] as const
    await pen.commit(
      ...ends.map((status, i) => createOf(decisionOf(2 + i, { status, expires_at: instant(-900 * DAY) }))),
    )
    await store.ledger.reserve(ask(1))
    await recoverAfter(MINUTE_MS)
    expect(await documents().countDocuments()).toBe(4)
    await recoverAfter(DAY_MS + MINUTE_MS)
    expect(await documents().countDocuments({ is_void: false })).toBe(3)
    expect(await documents().countDocuments()).toBe(3)
  })
})

describe('a decision that was in hand for more than a minute', () => {
  /** The machine slept, or the process was frozen: one of its clocks may not tell. */
  const CLOCKS = { 'the time of day': Date, 'the time since the start': performance }

  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.each(Object.entries(CLOCKS))('never comes, as far as %s says so', async (_, clock) => {
    const { reservation } = await store.ledger.reserve(ask(1))
    const pen = await LogPen.of(store)
    const now = clock.now.bind(clock)
    vi.spyOn(clock, 'now').mockImplementation(() => now() + MINUTE_MS)
    const create = createOf(decisionOf(1, { postings: [heldIn(account, 7n)] }), requestOf(1), reservation)
    await expect(pen.commit(create)).rejects.toThrow(StoreUnavailableError)
    vi.restoreAllMocks()
    expect(await documents().countDocuments()).toBe(0)

    await store.ledger.release(reservation as string)
    expect(await balance()).toEqual({ spent: 0n, reserved: 0n })
    const again = await LogPen.of(store)
    expect(await again.commit(createOf(decisionOf(2)))).toEqual({ written: 1, conflict: null })
    const entries = (await store.audit.list({}, WHOLE)).items
    expect(entries.map(({ index, type }) => [index, type])).toEqual([
      [1, 'decision.created'],
      [0, 'void'],
    ])
  })

  it('never comes when it has waited since its intent was written', async () => {
    const database = await Database.open(mongoUrl(NAME))
    const slow = new MongoStore(database, Date.now)
    const pen = await LogPen.of(slow)
    const { claims } = database
    const insertMany = claims.insertMany.bind(claims)
    // The step right before the decision's own.
    vi.spyOn(claims, 'insertMany').mockImplementation(async (...parameters) => {
      const done = await insertMany(...parameters)
      const now = performance.now.bind(performance)
      vi.spyOn(performance, 'now').mockImplementation(() => now() + MINUTE_MS)
      return done
    })
    const idempotency = idempotencyOf(decisionOf(1).id)
    await expect(pen.commit({ change: createOf(decisionOf(1)), idempotency })).rejects.toThrow(StoreUnavailableError)
    vi.restoreAllMocks()
    expect(await documents().countDocuments()).toBe(0)
    await slow.openLog()
    expect(await slow.idempotency.get(idempotency, instant(0))).toBeNull()
    await slow.close()
  })
})
