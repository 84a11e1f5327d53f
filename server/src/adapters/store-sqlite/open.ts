import { statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Store } from '../../ports/store.js'
import { DamagedStoreError, holdDataDirectory } from './data-directory.js'
import { Connection, saysDamage } from './driver.js'
import type { Failure } from './migrate-thread.js'
import { assertAsWritten, dropSums, hasSums, makeSums, openSums } from './page-sums.js'
import { assertKnown, isWalMode, KNOWN_SCHEMA, schemaVersionOf } from './schema.js'
import { assertSchema } from './soundness.js'
import { SqliteStore } from './sqlite-store.js'
import { readThrough } from './told-fault.js'

export interface SqliteStoreOptions {
  readonly dataDir: string
  /** False: a database that is missing or empty is refused. */
  readonly mayBeNew?: boolean
  /** Told of what the store does by itself and could not: it tries again. */
  readonly onError?: (error: Error) => void
}

/**
 * Opens the embedded store in a directory, which it makes when it is missing, and holds the directory until `close`.
 *
 * @throws DataDirectoryInUseError, MissingStoreError, DamagedStoreError, NewerSchemaError, ForeignDatabaseError: nothing was changed.
 */
export async function openSqliteStore({
  dataDir,
  mayBeNew = true,
  onError = () => {},
}: SqliteStoreOptions): Promise<Store> {
  const directory = holdDataDirectory(dataDir, mayBeNew)
  try {
    await prepare(directory.databasePath)
    return new SqliteStore(directory, onError)
  } catch (error) {
    directory.release()
    throw error
  }
}

/** Refuses a damaged database before SQLite has it, then brings it to the present schema. */
async function prepare(path: string): Promise<void> {
  const inLog = await assertAsWritten(path)
  if (hasSums(path)) openSums(path, inLog)
  else if (statSync(path).size > 0) await assertSound(path)
  await bringUpToDate(path)
  if (!hasSums(path)) await makeSums(path)
}

/** @throws DamagedStoreError */
async function assertSound(path: string): Promise<void> {
  const fault = await readThrough(path)
  if (fault !== null) throw new DamagedStoreError(path, fault)
}

/** Looks at it without writing: the library closes a connection late, and one that writes would then copy the log unsummed. */
async function bringUpToDate(path: string): Promise<void> {
  try {
    if (!lookAt(path, (db) => schemaVersionOf(db) === KNOWN_SCHEMA && isWalMode(db))) {
      dropSums(path)
      await migrateInThread(path)
    }
    lookAt(path, (db) => assertSchema(db, path))
  } catch (error) {
    if (saysDamage(error)) throw new DamagedStoreError(path, (error as Error).message, { cause: error })
    throw error
  }
}

function lookAt<T>(path: string, look: (db: Connection) => T): T {
  const db = Connection.openReadOnly(path)
  try {
    db.execute('PRAGMA busy_timeout = 2000; PRAGMA cell_size_check = ON')
    assertKnown(db, path)
    return look(db)
  } finally {
    db.close()
  }
}

/** A thread that has ended has closed its connections. */
async function migrateInThread(path: string): Promise<void> {
  const thread = new Worker(new URL('./migrate-thread.js', import.meta.url), { workerData: path })
  const failure = await new Promise<Failure | null>((resolve, reject) => {
    let told: Failure | null = null
    thread.once('message', (failed: Failure | null) => {
      told = failed
    })
    thread.once('error', reject)
    thread.once('exit', () => resolve(told))
  })
  if (failure !== null) throw Object.assign(new Error(failure.message), { code: failure.code })
}
