/** The suite of every store on MongoDB, where it has to notice what is broken above the adapter, and below it. */

import type { Document } from 'mongodb'
import { describe, it } from 'vitest'
import { Database } from '#server/stores/mongodb/connection/database'
import { MongoStore } from '#server/stores/mongodb/mongo-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import { expectCaught, sabotageSuite } from '../../store-suite/index.js'
import { openInNewDatabase } from './open-mongo-store.js'
import { change, DONE } from './sabotages.js'

interface Sabotage {
  readonly what: string
  readonly broken: (database: Database) => void
  /** The beginning of the title of the case that fails. */
  readonly caughtBy: string
}

type Insert = (documents: Document[], options: never) => Promise<unknown>

/** Acknowledges all documents and writes all but the last. */
function losing(own: { insertMany: Insert }): { insertMany: Insert } {
  return {
    insertMany: (documents, options) =>
      documents.length < 2 ? Promise.resolve(DONE) : own.insertMany(documents.slice(0, -1), options),
  }
}

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'loses the last decision of a group',
    broken: (database) => change(database, 'decisions', (own) => losing(own as never)),
    caughtBy: 'writes a group whole',
  },
  {
    what: 'loses the last entry of a group',
    broken: (database) => change(database, 'audit', (own) => losing(own as never)),
    caughtBy: 'lists audit entries by {}',
  },
  {
    what: 'reads decisions from a member that is behind',
    broken: (database) => {
      const first = new Map<string, Promise<unknown>>()
      change(database, 'decisions', (own) => ({
        find: (filter: never, options: never) => {
          const cursor = own.find(filter, options)
          const toArray = cursor.toArray.bind(cursor)
          const project = cursor.project.bind(cursor)
          let projection: unknown
          cursor.project = (given: never) => {
            projection = given
            return project(given)
          }
          cursor.toArray = () => {
            const name = JSON.stringify([filter, projection])
            const answer = first.get(name) ?? toArray()
            first.set(name, answer)
            return answer as never
          }
          return cursor
        },
      }))
    },
    caughtBy: 'lets reads see a commit as soon as it has resolved',
  },
  {
    what: 'does not see who has the name of a call',
    broken: (database) =>
      change(database, 'claims', (own) => ({
        insertMany: (documents: never[], options: never) => own.insertMany(documents, options).catch(() => DONE),
        find: (filter: never, options: never) => own.find({ $and: [filter, { _id: 'none' as never }] }, options),
      })),
    caughtBy: 'refuses the second of two records with one name in a group',
  },
  {
    what: 'takes decisions as they come',
    broken: (database) =>
      change(database, 'decisions', (own) => ({
        find: (filter: never, options: never) => {
          const cursor = own.find(filter, options)
          cursor.sort = () => cursor
          return cursor
        },
      })),
    caughtBy: 'lists decisions newest first',
  },
  {
    what: 'leaves out an entry in the middle of a log',
    broken: (database) =>
      change(database, 'audit', (own) => ({
        find: (filter: never, options: never) => {
          const cursor = own.find(filter, options)
          const toArray = cursor.toArray.bind(cursor)
          cursor.toArray = async () => (await toArray()).filter((_, i) => i !== 1)
          return cursor
        },
      })),
    caughtBy: 'reads a log forward from any index',
  },
  {
    what: 'moves accounts that say nothing of it',
    broken: (database) => change(database, 'accounts', () => ({ bulkWrite: () => Promise.resolve(DONE) })),
    caughtBy: 'takes every amount of a reservation or none',
  },
]

/** A store on a database whose collections are broken once it has what a store starts from. */
async function openBroken(url: string, { broken }: Sabotage): Promise<MongoStore> {
  await (await openMongoStore({ url })).close()
  const database = await Database.open(url)
  broken(database)
  return new MongoStore(database, Date.now)
}

sabotageSuite('the store suite on MongoDB catches a store that', () => openInNewDatabase())

describe('the store suite on MongoDB catches a database that', () => {
  it.each(SABOTAGES)('$what', (sabotage) =>
    expectCaught(() => openInNewDatabase((url) => openBroken(url, sabotage)), sabotage.caughtBy),
  )
})
