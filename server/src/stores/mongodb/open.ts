import { Database } from './connection/database.js'
import { MongoStore } from './mongo-store.js'
import { setUp } from './set-up.js'

export interface MongoStoreOptions {
  /** `mongodb://…`; it names the database, which is otherwise `countersign`. */
  readonly url: string
  /** The time for leases, in milliseconds since 1970. Default: the machine's clock, which can be set back. */
  readonly nowMs?: () => number
  /** Called with failures of the store's background tasks. */
  readonly onError?: (error: unknown) => void
}

/**
 * Connects to the store, and creates missing collections and indexes.
 *
 * @throws NewerSchemaError, UnfitDatabaseError, StoreUnavailableError
 */
export async function openMongoStore({ url, nowMs = Date.now, onError }: MongoStoreOptions): Promise<MongoStore> {
  await setUp(url)
  return new MongoStore(await Database.open(url), nowMs, onError)
}
