import { existsSync, fsyncSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import type { LogPosition } from '../../ports/store/audit.js'
import { DamagedStoreError, holdDataDirectory } from './data-directory.js'
import type { Connection } from './driver.js'
import { readThrough } from './fault-report.js'
import { assertAsWritten, dropSums, hasSums, makeSums, openSums } from './page-sums.js'
import { isWalMode, KNOWN_SCHEMA, migrate, schemaVersionOf, shareLog } from './schema.js'
import { assertSchema } from './soundness.js'
import { SqliteStore } from './sqlite-store.js'
import { hasPosition } from './tables/audit-entries.js'
import { isRestored } from './tables/meta.js'
import { assertNotMoved } from './tables/move-note.js'
import { changeAlone, lookAt } from './use-database.js'
import { withFile } from './wal-file.js'

/** The content of a store before it is opened. */
export interface StoreAtRest {
  hasEntry(position: LogPosition): boolean
  isRestored(): boolean
}

export interface SqliteStoreOptions {
  readonly dataDir: string
  /** False: a missing or empty database is refused. */
  readonly mayBeNew?: boolean
  /** For the move itself: a store that is moved or being moved is refused otherwise. */
  readonly mayBeMoved?: boolean
  /** Throws to refuse the store before anything in it is changed. */
  readonly assertWanted?: (store: StoreAtRest) => void
  /**
   * The time for leases, in milliseconds since any moment. Default: since the process began, which no clock change
   * affects.
   */
  readonly nowMs?: () => number
  /** Called with errors of the store's background tasks, which it retries. */
  readonly onError?: (error: Error) => void
}

/**
 * Opens the embedded store in a directory, which it creates when it is missing, and locks the directory until `close`.
 *
 * @throws DataDirectoryInUseError, MissingStoreError, DamagedStoreError, NewerSchemaError, ForeignDatabaseError,
 *   MovedStoreError: nothing was changed.
 */
export async function openSqliteStore({
  dataDir,
  mayBeNew = true,
  mayBeMoved = false,
  assertWanted = () => {},
  nowMs = () => performance.now(),
  onError = () => {},
}: SqliteStoreOptions): Promise<SqliteStore> {
  const directory = holdDataDirectory(dataDir, mayBeNew)
  try {
    await prepare(directory.databasePath, mayBeMoved, assertWanted)
    return new SqliteStore(directory, nowMs, onError)
  } catch (error) {
    directory.release()
    throw error
  }
}

/** Refuses a damaged database before SQLite opens it, then migrates it to the present schema. */
async function prepare(path: string, mayBeMoved: boolean, assertWanted: (store: StoreAtRest) => void): Promise<void> {
  const inLog = await assertAsWritten(path)
  const look = () =>
    lookAt(path, (db) => {
      if (!mayBeMoved && schemaVersionOf(db) > 0) assertNotMoved(db, path)
      assertWanted(storeAtRest(db))
    })
  if (hasSums(path)) {
    await leavingIndex(path, look)
    await openSums(path, inLog)
  } else {
    rollBackJournal(path)
    if (statSync(path).size > 0)
      await leavingIndex(path, async () => {
        await assertSound(path)
        look()
      })
  }
  await bringUpToDate(path)
  if (!hasSums(path)) await makeSums(path)
}

/** Restores the log and its index when the store is refused, because SQLite writes them to inspect it. */
async function leavingIndex(path: string, look: () => void | Promise<void>): Promise<void> {
  const [log, index] = [`${path}-wal`, `${path}-shm`]
  const hasLog = existsSync(log)
  const bytesBefore = bytesOf(log)
  const content = existsSync(index) ? readFileSync(index) : null
  try {
    await look()
  } catch (error) {
    // Another program has written in the meantime, and these files contain its data.
    if (bytesOf(log) > bytesBefore) throw error
    if (!hasLog) rmSync(log, { force: true })
    if (content === null) rmSync(index, { force: true })
    // Written in place, because the library may still have the file mapped.
    else withFile(index, (descriptor) => writeSync(descriptor, content, 0, content.length, 0), 'r+')
    throw error
  }
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Empty before the first start. */
function storeAtRest(db: Connection): StoreAtRest {
  const isUsed = schemaVersionOf(db) > 0
  return {
    hasEntry: (position) => isUsed && hasPosition(db, position),
    isRestored: () => isUsed && isRestored(db),
  }
}

/**
 * A process that was killed while it switched the database to a log left a journal. Until SQLite has rolled that change
 * back, the database cannot be read, and only a writable connection does the rollback.
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
  // The last connection to close removes the log. After a loss of power the index must not name frames that are already
  // copied.
  withFile(`${path}-shm`, fsyncSync)
}
