import { type Store, StoreUnavailableError } from '@countersign/store-port/store'
import { DataDirectoryInUseError } from '@countersign/store-sqlite/data-directory'
import { openSqliteStore } from '@countersign/store-sqlite/open'
import { findKeyring } from '../adapters/keyring/keyring.js'
import { systemClock } from '../adapters/system-clock.js'
import { typeidIds } from '../adapters/typeid-ids.js'
import type { Config } from '../config.js'
import { MutationWriter } from '../mutation-writer.js'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import { startClock } from '../use-cases/clock/start.js'
import { findLostEntry } from '../use-cases/signing-keys/lost-entries.js'
import { writeNotice } from './exit.js'

export interface OpenedStore {
  readonly store: Store
  readonly writer: MutationWriter
  readonly clock: Clock
  readonly ids: Ids
}

const DEADLINE_MS = 30_000
/** Warnings go to standard error: standard output has the result of the command. */
const NOTICES: Pick<Log, 'warn'> = { warn: (fields, msg) => writeNotice('warn', msg, fields) }

/**
 * Works on the store of a server. Resolves with null, without work, when the store is embedded and the server runs.
 *
 * @throws LostEntriesError, MissingStoreError: new entries would reuse positions of lost entries in the audit log
 */
export async function withStore<T>(
  { dataDir, mongodbUrl }: Pick<Config, 'dataDir' | 'mongodbUrl'>,
  work: (opened: OpenedStore) => Promise<T>,
): Promise<T | null> {
  const clock = systemClock()
  const keyring = await findKeyring({ dataDir, clock })
  const mayBeNew = (keyring?.newestEntry ?? null) === null
  let store: Store
  try {
    store = mongodbUrl === null ? await openSqliteStore({ dataDir, mayBeNew }) : await openMongodb(mongodbUrl, clock)
  } catch (error) {
    if (error instanceof DataDirectoryInUseError) return null
    throw error
  }
  try {
    await startClock(clock, store)
    if (keyring !== null) await findLostEntry({ memory: keyring, store, log: NOTICES }, false)
    const ids = typeidIds(clock)
    return await work({ store, clock, ids, writer: new MutationWriter(store, ids, DEADLINE_MS) })
  } finally {
    await store.close()
  }
}

/** Loads the driver, which the embedded store does not need. */
async function openMongodb(url: string, clock: Clock): Promise<Store> {
  const { openMongoStore } = await import('@countersign/store-mongodb/open')
  try {
    return await openMongoStore({ url, nowMs: () => clock.now().getTime() })
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    const { mongoFailure } = await import('@countersign/store-mongodb/failure')
    throw new Error(mongoFailure(url, error), { cause: error })
  }
}
