/** Stores that do not find out what became of a write whose answer was lost: the run behind the relay, which finds nothing in ours, notices each. */
import { seededRandom, stress } from '@countersign/testkit'
import { type BulkWriteResult, type Document, MongoNetworkError, MongoServerError } from 'mongodb'
import { afterEach, describe, expect, it } from 'vitest'
import { typeidIds } from '#server/adapters/typeid-ids'
import type { AccountDocument, Database } from '../stores/mongodb/inside.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'
import { Cuts } from '../stores/mongodb/relay-cuts.js'
import { type AccountUpdates, change, DONE } from '../stores/mongodb/sabotages.js'
import { BrokenPromiseError } from './ledger-run.js'
import { runBehindRelay } from './relay-run.js'

const NAME = `countersign-relay-sabotage-${process.pid}`
const OPERATIONS = 250
const RUNS = 3

afterEach(() => dropDatabase(NAME))

interface Sabotage {
  readonly what: string
  readonly broken: (database: Database) => void
  /** The writes that it breaks. */
  readonly target: string
}

type Insert = (documents: readonly Document[], options?: object) => Promise<unknown>

const ids = typeidIds({ now: () => new Date() })

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'takes a decision without an answer for not written, and writes it under another id',
    target: 'insert decisions',
    broken: (database) =>
      change(database, 'decisions', (own) => ({
        insertMany: (documents: readonly Document[], options: object) =>
          unless(own.insertMany(documents as never, options), () => own.insertMany(documents.map(renamed) as never)),
      })),
  },
  {
    what: 'takes a decision without an answer for written',
    target: 'insert decisions',
    broken: (database) => change(database, 'decisions', (own) => ({ insertMany: trusting(own.insertMany.bind(own)) })),
  },
  {
    what: 'does not look whether a decision without an answer is its own',
    target: 'insert decisions',
    broken: (database) =>
      change(database, 'decisions', (own) => ({
        find: (filter: object, options?: object) => {
          const cursor = own.find(filter, options)
          const toArray = cursor.toArray.bind(cursor)
          cursor.toArray = async () => (await toArray()).map((found) => ({ ...found, last: null }) as never)
          return cursor
        },
      })),
  },
  {
    what: 'takes an entry without an answer for written',
    target: 'insert audit',
    broken: (database) => change(database, 'audit', (own) => ({ insertMany: trusting(own.insertMany.bind(own)) })),
  },
  {
    what: 'takes the name of a call without an answer for taken',
    target: 'insert claims',
    broken: (database) => change(database, 'claims', (own) => ({ insertMany: trusting(own.insertMany.bind(own)) })),
  },
  {
    what: 'moves the totals of an account once more when there was no answer',
    target: 'update accounts',
    broken: (database) =>
      change<AccountDocument>(database, 'accounts', (own) => ({
        bulkWrite: async (updates: AccountUpdates, options: object) => {
          const before = await own
            .find({ _id: { $in: updates.map(({ updateOne }) => updateOne.filter._id) } })
            .toArray()
          return unless(own.bulkWrite(updates as never, options), async (error) => {
            for (const { _id, v, ...old } of before) {
              const { filter, update } = updates.find(({ updateOne }) => updateOne.filter._id === _id)?.updateOne ?? {}
              const more = (member: 'spent' | 'reserved') =>
                String(2n * BigInt(update?.$set[member]) - BigInt(old[member]))
              const totals = { ...update?.$set, v: v + 2, spent: more('spent'), reserved: more('reserved') }
              if (filter?.v === v) await own.updateOne({ _id, v: v + 1 }, { $set: totals })
            }
            throw error
          })
        },
      })),
  },
  {
    what: 'writes accounts that one member alone has',
    target: 'update accounts',
    broken: (database) => {
      const accounts = database.accounts.db.collection('accounts', { writeConcern: { w: 1 } })
      Object.assign(database, { accounts })
    },
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

async function runWith(seed: number, target: string, operations: number, sabotage?: Sabotage['broken']): Promise<void> {
  const random = seededRandom(seed)
  const run = { url: mongoUrl(NAME), cuts: new Cuts(random, target), random, operations }
  await runBehindRelay({ ...run, ...(sabotage && { sabotage }) })
}

describe('the run behind a relay', () => {
  /** Where a broken store shows first depends on which write was hit: any broken promise is one. */
  it.each(SABOTAGES.filter((_, i) => i % stress.relay_sabotages_for_each === 0))(
    'finds a store that $what',
    async ({ broken, target }) => {
      for (let seed = 1; seed <= RUNS; seed += 1) {
        const failure = await runWith(seed, target, OPERATIONS, broken).catch((error: unknown) => error)
        if (failure instanceof BrokenPromiseError)
          return console.log(`found in run ${seed}: ${failure.message.slice(0, 300)}`)
        if (failure instanceof Error) throw failure
        await dropDatabase(NAME)
      }
      expect.unreachable(`${RUNS} runs found nothing.`)
    },
  )
})
