import { existsSync, fsyncSync, statSync } from 'node:fs'
import { DamagedStoreError, holdDataDirectory } from './data-directory.js'
import type { Connection } from './driver.js'
import { readThrough } from './fault-report.js'
import { assertAsWritten, dropSums, hasSums, makeSums, openSums } from './page-sums.js'
import { isWalMode, KNOWN_SCHEMA, migrate, schemaVersionOf, shareLog } from './schema.js'
import { assertSchema } from './soundness.js'
import { SqliteStore } from './sqlite-store.js'
import { changeAlone, lookAt } from './use-database.js'
import { withFile } from './wal-file.js'

export interface SqliteStoreOptions {
  readonly dataDir: string
  /** False: a database that is missing or empty is refused. */
  readonly mayBeNew?: boolean
  /** The time for leases, in milliseconds since any moment. Default: since the process began, which no clock sets back. */
  readonly nowMs?: () => number
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
  nowMs = () => performance.now(),
  onError = () => {},
}: SqliteStoreOptions): Promise<SqliteStore> {
  const directory = holdDataDirectory(dataDir, mayBeNew)
  try {
    await prepare(directory.databasePath)
    return new SqliteStore(directory, nowMs, onError)
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
 * can read the database, and only a connection that may write does so.
 *
 * @throws DamagedStoreError
 */
function rollBackJournal(path: string): void {
  if (!existsSync(`${path}-journal`)) return
  changeAlone(path, (db) => db.execute('BEGIN IMMEDIATE; ROLLBACK'))
}

/** @throws DamagedStoreError */
async function assertSound(path: string): Promise<void> {
  const fault = await readThrough(path)
  if (fault !== null) throw new DamagedStoreError(path, fault)
}

async function bringUpToDate(path: string): Promise<void> {
  const { version, isReady } = lookAt(path, (db) => ({ version: schemaVersionOf(db), isReady: isWalMode(db) }))
  if (version < KNOWN_SCHEMA || !isReady) {
    dropSums(path)
    changeAlone(path, (db) => migrateFile(db, path, version))
  }
  lookAt(path, (db) => assertSchema(db, path))
}

function migrateFile(db: Connection, path: string, version: number): void {
  shareLog(db)
  migrate(db, version)
  db.execute('PRAGMA wal_checkpoint(PASSIVE)')
  // The last connection to close removes the log. After a loss of power the index must not name frames that are copied already.
  withFile(`${path}-shm`, fsyncSync)
}
