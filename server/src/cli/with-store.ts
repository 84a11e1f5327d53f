import { findKeyring } from '../adapters/keyring/keyring.js'
import { systemClock } from '../adapters/system-clock.js'
import { typeidIds } from '../adapters/typeid-ids.js'
import type { Config } from '../config.js'
import { MutationWriter } from '../mutation-writer.js'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import { DamagedRecordError, StoreUnavailableError } from '../ports/store/errors.js'
import type { Store } from '../ports/store/store.js'
import { DamagedStoreError, DataDirectoryInUseError } from '../stores/sqlite/data-directory.js'
import { openSqliteStore } from '../stores/sqlite/open.js'
import { ExportGapError } from '../use-cases/audit/export.js'
import { startClock } from '../use-cases/clock/start.js'
import { findLostEntry } from '../use-cases/signing-keys/lost-entries.js'
import { WAITS } from '../waits.js'
import { failure, writeNotice } from './exit.js'

export interface OpenedStore {
  readonly store: Store
  readonly writer: MutationWriter
  readonly clock: Clock
  readonly ids: Ids
}

/** Warnings go to standard error: standard output has the result of the command. */
const NOTICES: Pick<Log, 'warn'> = { warn: (fields, msg) => writeNotice('warn', msg, fields) }

/**
 * Uses the store of a server, however slow it is, and reports waits on standard error. Resolves with null, without any
 * work, when the store is embedded and the server runs.
 *
 * @throws LostEntriesError, MissingStoreError: new entries would reuse positions of lost entries in the audit log
 */
export async function withStore<T>(
  { dataDir, mongodbUrl }: Pick<Config, 'dataDir' | 'mongodbUrl'>,
  work: (opened: OpenedStore) => Promise<T>,
  { isReadOnly = false } = {},
): Promise<T | null> {
  const clock = systemClock()
  const keyring = await findKeyring({ dataDir, clock })
  const mayBeNew = (keyring?.newestEntry ?? null) === null
  let store: Store
  try {
    store = mongodbUrl === null ? await openSqliteStore({ dataDir, mayBeNew }) : await openMongodb(mongodbUrl, clock)
  } catch (error) {
    if (error instanceof DataDirectoryInUseError) return null
    // Its message says where, and what to do.
    if (error instanceof DamagedStoreError) throw failure(error.message, error)
    throw error
  }
  const report = setInterval(
    () =>
      NOTICES.warn(
        {},
        'The command waits for the store, and continues by itself. Check the load of the store and of its disk.',
      ),
    WAITS.reportEveryMs,
  )
  try {
    await startClock(clock, store)
    if (keyring !== null) await findLostEntry({ memory: keyring, store, log: NOTICES }, false)
    const ids = typeidIds(clock)
    return await work({ store, clock, ids, writer: new MutationWriter(store, ids, null) })
  } catch (error) {
    if (!(error instanceof StoreUnavailableError) || error instanceof ExportGapError) throw error
    const reason = await reasonOf(mongodbUrl, error)
    if (isReadOnly) throw failure(reason)
    throw failure(`${reason} The command may have taken effect: check before you repeat it.`)
  } finally {
    clearInterval(report)
    await store.close()
  }
}

/**
 * Reads the store of a server.
 *
 * @param advice for the person whose embedded server runs
 * @throws CommandError while an embedded server runs
 */
export async function readStore<T>(
  config: Pick<Config, 'dataDir' | 'mongodbUrl'>,
  advice: string,
  work: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  const done = await withStore(config, async (opened) => ({ result: await work(opened) }), { isReadOnly: true })
  if (done === null) throw failure(`A server is using the data in ${config.dataDir}. ${advice}`)
  return done.result
}

/** Loads the driver, which the embedded store does not need. */
async function openMongodb(url: string, clock: Clock): Promise<Store> {
  const { openMongoStore } = await import('../stores/mongodb/open.js')
  try {
    return await openMongoStore({ url, nowMs: () => clock.now().getTime() })
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    throw failure(await reasonOf(url, error))
  }
}

async function reasonOf(mongodbUrl: string | null, error: StoreUnavailableError): Promise<string> {
  if (mongodbUrl === null || error instanceof DamagedRecordError) return error.message
  const { mongoFailure } = await import('../stores/mongodb/connection/failure.js')
  return mongoFailure(mongodbUrl, error)
}
