import { Database } from './connection/database.js'
import { MongoStore } from './mongo-store.js'
import { setUp } from './set-up.js'

export interface MongoStoreOptions {
  /** `mongodb://…`; the database is named in it, else it is `countersign`. */
  readonly url: string
  /** The time for leases, in milliseconds since 1970. Default: the machine's clock, which can be set back. */
  readonly nowMs?: () => number
  /** Told of what the store does by itself and could not. */
  readonly onError?: (error: unknown) => void
}

/**
 * Connects to the store, and makes its collections and indexes as far as they are missing.
 *
 * @throws NewerSchemaError, StoreUnavailableError
 */
export async function openMongoStore({ url, nowMs = Date.now, onError }: MongoStoreOptions): Promise<MongoStore> {
  await setUp(url)
  return new MongoStore(await Database.open(url), nowMs, onError)
}
