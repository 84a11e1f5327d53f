import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Connection, sqliteCode } from './driver.js'

/** Another process works in the data directory. */
export class DataDirectoryInUseError extends Error {
  override readonly name = 'DataDirectoryInUseError'
  constructor(directory: string, options: ErrorOptions) {
    super(
      `The data directory ${directory} is in use by another process. ` +
        'Stop that process first, or choose another data directory.',
      options,
    )
  }
}

/** A file of the data directory cannot be what the store left. */
export class DamagedStoreError extends Error {
  override readonly name = 'DamagedStoreError'
  constructor(path: string, found: string, options?: ErrorOptions) {
    super(
      `${path} is damaged (${found}). Nothing was changed. ` +
        'Restore the whole data directory from a backup, or move it away to start with an empty store.',
      options,
    )
  }
}

/** The directory of one store, held for this process alone until it is released or the process ends. */
export interface DataDirectory {
  readonly databasePath: string
  release(): void
}

/**
 * Makes the directory (mode 0700) and its files (0600) where they are missing, and takes hold of it.
 *
 * @throws DataDirectoryInUseError, DamagedStoreError
 */
export function holdDataDirectory(dataDir: string): DataDirectory {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const directory = realpathSync(dataDir)
  const lock = holdLock(directory)
  try {
    const databasePath = join(directory, 'countersign.db')
    assertDatabaseIsThere(databasePath)
    if (makeFile(databasePath)) for (const changed of [directory, dirname(directory)]) syncDirectory(changed)
    return {
      databasePath,
      release: () => {
        lock.execute('ROLLBACK')
        lock.close()
      },
    }
  } catch (error) {
    lock.close()
    throw error
  }
}

/** The kernel lets go of the lock when the process ends, however it ends. */
function holdLock(directory: string): Connection {
  const path = join(directory, 'lock')
  makeFile(path)
  const lock = Connection.open(path)
  try {
    lock.execute('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if (sqliteCode(error)?.startsWith('SQLITE_BUSY')) throw new DataDirectoryInUseError(directory, { cause: error })
    throw error
  }
}

/** SQLite would throw a log away that has no database, and with it what was acknowledged. */
function assertDatabaseIsThere(path: string): void {
  if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) > 0)
    throw new DamagedStoreError(path, 'empty or missing beside its -wal file')
}

/** True when it was missing. An existing file is not even opened: closing it again would drop SQLite's locks on it. */
function makeFile(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
