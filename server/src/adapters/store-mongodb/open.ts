import { systemClock } from '../system-clock.js'
import { Database } from './connection/database.js'
import { MongoStore } from './mongo-store.js'
import { setUp } from './set-up.js'

export interface MongoStoreOptions {
  /** `mongodb://…`; the database is named in it, else it is `countersign`. */
  readonly url: string
  /** Default: the machine's time. */
  readonly nowMs?: () => number
  /** Told of what the store does by itself and could not. */
  readonly onError?: (error: unknown) => void
}

/**
 * Connects to the store, and makes its collections and indexes as far as they are missing.
 *
 * @throws NewerSchemaError, StoreUnavailableError
 */
export async function openMongoStore({ url, nowMs = machineMs(), onError }: MongoStoreOptions): Promise<MongoStore> {
  await setUp(url)
  return new MongoStore(await Database.open(url), nowMs, onError)
}

function machineMs(): () => number {
  const clock = systemClock()
  return () => clock.now().getTime()
}
