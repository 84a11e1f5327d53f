import { Database } from './database.js'
import { KEYS } from './keys.js'
import { MongoStore } from './mongo-store.js'
import { POLICIES } from './policies.js'

export interface MongoStoreOptions {
  /** `mongodb://…`; the database is named in it, else it is `countersign`. */
  readonly url: string
  readonly nowMs?: () => number
}

/**
 * Connects to the store, and makes its collections and indexes as far as they are missing.
 *
 * @throws StoreUnavailableError
 */
export async function openMongoStore({ url, nowMs = Date.now }: MongoStoreOptions): Promise<MongoStore> {
  const database = await Database.open(url)
  const directory = { rev: 1, version: 0, last: null }
  await database.insertNew(database.policyDirectory, [
    { ...directory, _id: POLICIES, policy_set: 0, live: {}, written: null },
  ])
  await database.insertNew(database.keyDirectory, [{ ...directory, _id: KEYS, keys: {} }])
  return new MongoStore(database, nowMs)
}
