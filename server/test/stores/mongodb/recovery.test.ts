/** What the store does by itself: its owner is told when that fails, and one part does not wait for another. */
import { randomBytes } from 'node:crypto'
import { until } from '@countersign/testkit'
import { MongoServerError } from 'mongodb'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Database } from '#server/stores/mongodb/connection/database'
import { MongoStore } from '#server/stores/mongodb/mongo-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import { accountOf, createOf, decisionOf, idOf, LogPen } from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { change, changeAccountWrites, NEVER } from './sabotages.js'

const NAME = `countersign-recovery-${randomBytes(6).toString('hex')}`
const MINUTE = 60_000
/** Without a right that it needs. */
const FORBIDDEN = new MongoServerError({ code: 13, errmsg: 'not authorized' })

let database: Database
let store: MongoStore
let told: unknown[]
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  await (await openMongoStore({ url: mongoUrl(NAME) })).close()
  database = await Database.open(mongoUrl(NAME))
  told = []
  store = new MongoStore(
    database,
    () => Date.now() + 2 * MINUTE,
    (error) => told.push(error),
  )
})
afterEach(async () => {
  await store.close()
  vi.useRealTimers()
  await dropDatabase(NAME)
})

function forbid(name: keyof Database): void {
  change(database, name, () => ({
    find: () => {
      throw FORBIDDEN
    },
  }))
}

const leaveReservation = (by: MongoStore, number = 1) =>
  by.ledger.reserve({
    decision_id: idOf('dec', number),
    version: 0,
    demands: [{ account: accountOf({ policy_id: idOf('pol', number) }), amount: 5n, limit: 9n }],
  })

it('that recovery fails is told', async () => {
  forbid('decisions')
  vi.advanceTimersByTime(MINUTE)
  await until('to be told', () => (told.length > 0 ? true : undefined))
  expect(told[0]).toMatchObject({ name: 'StoreUnavailableError', cause: FORBIDDEN })
})

it('logs that cannot be read keep nothing else from being recovered', async () => {
  const dead = await openMongoStore({ url: mongoUrl(NAME) })
  await leaveReservation(dead)
  forbid('logs')
  vi.advanceTimersByTime(MINUTE)
  await until('the reservation to be given back', async () => {
    const [balance] = await store.ledger.balances([accountOf()])
    return balance?.reserved === 0n ? true : undefined
  })
  expect(told).toMatchObject([{ cause: FORBIDDEN }])
  await dead.close()
})

it('that a store could not be left in order is told, and what can be is', async () => {
  const pen = await LogPen.of(store)
  await pen.commit(createOf(decisionOf(1)))
  await leaveReservation(store)
  change(database, 'decisions', () => ({ bulkWrite: () => Promise.reject(FORBIDDEN) }))
  change(database, 'replicas', () => ({ deleteOne: () => Promise.reject(FORBIDDEN) }))
  await store.close()
  expect(told).toMatchObject([{ cause: FORBIDDEN }])
  const other = await openMongoStore({ url: mongoUrl(NAME) })
  expect(await other.openLog()).toEqual({ log: pen.log, next_index: 1 })
  await other.close()
})

it('goes on with what it has begun when the store closes, and begins nothing else', async () => {
  const dead = await openMongoStore({ url: mongoUrl(NAME) })
  for (const number of [1, 2, 3, 4]) await leaveReservation(dead, number)
  const tried = new Set<string>()
  changeAccountWrites(database, ({ _id }) => {
    tried.add(_id)
    return { _id, v: NEVER }
  })
  vi.advanceTimersByTime(MINUTE)
  await until('it to begin', () => (tried.size > 0 ? true : undefined))
  await store.close()
  expect(tried.size).toBe(1)
  await dead.close()
})

it('what fails in every run holds up nothing that was left behind later', async () => {
  const marks = 600
  const old = Date.now() - 60 * MINUTE
  // Accounts that nobody can make sense of: more than recovery takes at a time.
  await database.accounts.insertMany(
    Array.from({ length: marks }, (_, i) => ({ _id: `damaged-${i}`, marked_ms: old, marks: null })) as never,
  )
  const dead = await openMongoStore({ url: mongoUrl(NAME) })
  await leaveReservation(dead)
  vi.advanceTimersByTime(MINUTE)
  await until('the reservation to be given back', async () => {
    const [balance] = await store.ledger.balances([accountOf({ policy_id: idOf('pol', 1) })])
    return balance?.reserved === 0n ? true : undefined
  })
  expect(told.length).toBeGreaterThanOrEqual(marks)
  await dead.close()
})
