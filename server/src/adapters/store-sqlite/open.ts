import { statSync } from 'node:fs'
import type { Store } from '../../ports/store.js'
import { DamagedStoreError, holdDataDirectory } from './data-directory.js'
import { Connection, saysDamage } from './driver.js'
import { assertAsWritten, dropSums, hasSums, makeSums, openSums } from './page-sums.js'
import { assertKnown, configureWriter, KNOWN_SCHEMA, migrate, schemaVersionOf } from './schema.js'
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
  migrateFile(path)
  if (!hasSums(path)) await makeSums(path)
}

/** @throws DamagedStoreError */
async function assertSound(path: string): Promise<void> {
  const fault = await readThrough(path)
  if (fault !== null) throw new DamagedStoreError(path, fault)
}

function migrateFile(path: string): void {
  const db = Connection.open(path)
  try {
    assertKnown(db, path)
    if (schemaVersionOf(db) < KNOWN_SCHEMA) dropSums(path)
    configureWriter(db)
    migrate(db)
    assertSchema(db, path)
    // The library closes a connection when its statements are collected, and SQLite would copy the log only then. The log
    // is not emptied: after a loss of power its index might be older, and tell of what an empty log lacks.
    db.get('PRAGMA wal_checkpoint(PASSIVE)')
  } catch (error) {
    if (saysDamage(error)) throw new DamagedStoreError(path, (error as Error).message, { cause: error })
    throw error
  } finally {
    db.close()
  }
}
