import { Database } from './database.js'
import { MongoStore } from './mongo-store.js'
import { setUp } from './set-up.js'

export interface MongoStoreOptions {
  /** `mongodb://…`; the database is named in it, else it is `countersign`. */
  readonly url: string
  readonly nowMs?: () => number
}

/**
 * Connects to the store, and makes its collections and indexes as far as they are missing.
 *
 * @throws NewerSchemaError, StoreUnavailableError
 */
export async function openMongoStore({ url, nowMs = Date.now }: MongoStoreOptions): Promise<MongoStore> {
  await setUp(url)
  return new MongoStore(await Database.open(url), nowMs)
}
