/** Stores that do not find out what became of a write whose answer was lost: the run behind the relay notices each. */
import { type BulkWriteResult, type Document, MongoNetworkError, MongoServerError } from 'mongodb'
import { afterEach, describe, expect, it } from 'vitest'
import type { Database } from '#server/adapters/store-mongodb/connection/database'
import { typeidIds } from '#server/adapters/typeid-ids'
import { seededRandom } from '../process/random.js'
import { BrokenPromiseError } from './ledger-run.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { Cuts } from './relay-cuts.js'
import { runBehindRelay } from './relay-run.js'
import { change, DONE } from './sabotages.js'

const NAME = `countersign-relay-sabotage-${process.pid}`
const OPERATIONS = 250
const RUNS = 3

afterEach(() => dropDatabase(NAME))

interface Sabotage {
  readonly what: string
  readonly broken: (database: Database) => void
  /** What is told in the end. */
  readonly caughtBy: RegExp
}

type Insert = (documents: readonly Document[], options?: object) => Promise<unknown>

const ids = typeidIds({ now: () => new Date() })

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'takes a decision without an answer for not written, and writes it under another id',
    broken: (database) =>
      change(database, 'decisions', (own) => ({
        insertMany: (documents: readonly Document[], options: object) =>
          unless(own.insertMany(documents as never, options), () => own.insertMany(documents.map(renamed) as never)),
      })),
    caughtBy: /one call made both|was never acknowledged|answered .*(not_found|404)/,
  },
  {
    what: 'takes a decision without an answer for written',
    broken: (database) => change(database, 'decisions', (own) => ({ insertMany: trusting(own.insertMany.bind(own)) })),
    caughtBy: /answered .*(not_found|404)|there is undefined/,
  },
  {
    what: 'does not look whether a decision without an answer is its own',
    broken: (database) =>
      change(database, 'decisions', (own) => ({
        find: (filter: object, options?: object) => {
          const cursor = own.find(filter, options)
          const toArray = cursor.toArray.bind(cursor)
          cursor.toArray = async () => (await toArray()).map((found) => ({ ...found, last: null }) as never)
          return cursor
        },
      })),
    caughtBy: /was answered .*(invalid_transition|internal_error)/,
  },
  {
    what: 'takes an entry without an answer for written',
    broken: (database) => change(database, 'audit', (own) => ({ insertMany: trusting(own.insertMany.bind(own)) })),
    caughtBy: /has a gap|the log tells/,
  },
  {
    what: 'takes the name of a call without an answer for taken',
    broken: (database) => change(database, 'claims', (own) => ({ insertMany: trusting(own.insertMany.bind(own)) })),
    caughtBy: /was answered (409|.*, and again)|one call made both/,
  },
  {
    what: 'moves the totals of an account once more when there was no answer',
    broken: (database) =>
      change(database, 'accounts', (own) => ({
        updateOne: async ({ _id, v }: Document, update: Document) => {
          const before = await own.findOne({ _id })
          return unless(own.updateOne({ _id, v } as never, update), async (error) => {
            const { $set } = update
            const more = (member: 'spent' | 'reserved') =>
              String(2n * BigInt($set[member]) - BigInt(before?.[member] ?? $set[member]))
            const totals = { ...$set, v: v + 2, spent: more('spent'), reserved: more('reserved') }
            if (before?.v === v) await own.updateOne({ _id, v: v + 1 } as never, { $set: totals } as never)
            throw error
          })
        },
      })),
    caughtBy: /the budget .* has/,
  },
  {
    what: 'writes accounts that one member alone has',
    broken: (database) => {
      const accounts = database.accounts.db.collection('accounts', { writeConcern: { w: 1 } })
      Object.assign(database, { accounts })
    },
    caughtBy: /not of a majority: update accounts|not of a majority: insert accounts/,
  },
]

/** What a write answers, or what is done when no answer comes. */
async function unless<T>(writing: Promise<T>, otherwise: (error: unknown) => Promise<T>): Promise<T> {
  try {
    return await writing
  } catch (error) {
    const isOfBulk = error instanceof MongoServerError && (error.errorResponse as unknown) instanceof MongoNetworkError
    if (error instanceof MongoNetworkError || isOfBulk) return otherwise(error)
    throw error
  }
}

function trusting(insert: Insert): Insert {
  return (documents, options) =>
    unless(insert(documents, options), () => Promise.resolve(DONE as unknown as BulkWriteResult))
}

function renamed({ _id, document, ...decision }: Document): Document {
  const other = ids.next('dec')
  return { ...decision, _id: other, document: document.replaceAll(_id, other) }
}

describe('the run behind a relay', () => {
  it.each(SABOTAGES)('finds a store that $what', async ({ broken, caughtBy }) => {
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const random = seededRandom(seed)
      const run = { url: mongoUrl(NAME), cuts: new Cuts(random), random, operations: OPERATIONS, sabotage: broken }
      const failure = await runBehindRelay(run).catch((error: unknown) => error)
      if (failure instanceof BrokenPromiseError) {
        console.log(`found in run ${seed}: ${failure.message.slice(0, 300)}`)
        return expect(failure.message).toMatch(caughtBy)
      }
      if (failure instanceof Error) throw failure
      await dropDatabase(NAME)
    }
    expect.unreachable(`${RUNS} runs found nothing.`)
  })
})
