import { existsSync, fsyncSync, statSync } from 'node:fs'
import type { Store } from '@countersign/store-port/store'
import { DamagedStoreError, holdDataDirectory } from './data-directory.js'
import { Connection, isDamage } from './driver.js'
import { readThrough } from './fault-report.js'
import { assertAsWritten, dropSums, hasSums, makeSums, openSums } from './page-sums.js'
import { assertKnown, isWalMode, KNOWN_SCHEMA, migrate, schemaVersionOf, shareLog } from './schema.js'
import { assertSchema } from './soundness.js'
import { SqliteStore } from './sqlite-store.js'
import { withFile } from './wal-file.js'

export interface SqliteStoreOptions {
  readonly dataDir: string
  /** False: a database that is missing or empty is refused. */
  readonly mayBeNew?: boolean
  /** Gets the errors of what the store does by itself; it tries again. */
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

/** Refuses a damaged database before SQLite opens it, then brings it to the present schema. */
async function prepare(path: string): Promise<void> {
  const inLog = await assertAsWritten(path)
  if (hasSums(path)) openSums(path, inLog)
  else {
    rollBackJournal(path)
    if (statSync(path).size > 0) await assertSound(path)
  }
  await bringUpToDate(path)
  if (!hasSums(path)) await makeSums(path)
}

/**
 * A process that was killed while it gave the database its log left a journal. Until SQLite has taken that change back, nobody
 * can read the database, and only a connection that may write does so. Prepares no statement.
 *
 * @throws DamagedStoreError
 */
function rollBackJournal(path: string): void {
  if (!existsSync(`${path}-journal`)) return
  const db = Connection.open(path)
  try {
    db.execute('BEGIN IMMEDIATE; ROLLBACK')
  } catch (error) {
    throw damageOr(path, error)
  } finally {
    db.close()
  }
}

/** @throws DamagedStoreError */
async function assertSound(path: string): Promise<void> {
  const fault = await readThrough(path)
  if (fault !== null) throw new DamagedStoreError(path, fault)
}

async function bringUpToDate(path: string): Promise<void> {
  try {
    const { version, isReady } = lookAt(path, (db) => ({ version: schemaVersionOf(db), isReady: isWalMode(db) }))
    if (version < KNOWN_SCHEMA || !isReady) {
      dropSums(path)
      migrateFile(path, version)
    }
    lookAt(path, (db) => assertSchema(db, path))
  } catch (error) {
    throw damageOr(path, error)
  }
}

function damageOr(path: string, error: unknown): unknown {
  return isDamage(error) ? new DamagedStoreError(path, (error as Error).message, { cause: error }) : error
}

/**
 * Writes nothing. The library closes a connection only when its statements are garbage-collected. One that may write would
 * copy the log at that moment, and no page would be summed.
 */
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

/** Prepares no statement, so that the connection is closed when this returns. */
function migrateFile(path: string, version: number): void {
  const db = Connection.open(path)
  try {
    shareLog(db)
    migrate(db, version)
    db.execute('PRAGMA wal_checkpoint(PASSIVE)')
    // The last connection to close removes the log. After a loss of power the index must not name frames that are copied already.
    withFile(`${path}-shm`, fsyncSync)
  } finally {
    db.close()
  }
}
