import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { assertNoFolder } from '../../durable-files/assert-no-folder.js'
import { takeFileLock } from '../../durable-files/file-lock.js'
import { makeFile } from '../../durable-files/make-file.js'
import { closeDatabaseFile } from './database-file.js'

export class DataDirectoryInUseError extends Error {
  override readonly name = 'DataDirectoryInUseError'
  constructor(directory: string) {
    super(
      `Another process uses the data directory ${directory}. ` +
        'Stop that process first, or choose another data directory.',
    )
  }
}

/** A file of the data directory cannot be one that the store wrote. */
export class DamagedStoreError extends Error {
  override readonly name = 'DamagedStoreError'
  constructor(
    path: string,
    readonly found: string,
    options?: ErrorOptions,
  ) {
    super(
      `${path} is damaged (${found}). Nothing was changed. ` +
        'Restore a backup into another directory (countersign restore). Run countersign doctor --deep for details.',
      options,
    )
  }
}

/** The signing keys have signed entries that this store lacks. */
class MissingStoreError extends Error {
  override readonly name = 'MissingStoreError'
  constructor(path: string) {
    super(
      `${path} is missing or empty, but the signing keys in the same directory have signed decisions. Nothing was changed. ` +
        'Restore a backup (countersign restore), or set DATA_DIR to the directory of the store. ' +
        'To give up all earlier decisions, run: countersign serve --accept-loss',
    )
  }
}

/** The directory of one store, held exclusively until it is released or the process ends. */
export interface DataDirectory {
  readonly databasePath: string
  release(): void
}

/**
 * Creates the missing directory (mode 0700) and files (0600), and locks the directory.
 *
 * @param mayBeNew whether the database may be missing
 * @throws DataDirectoryInUseError, MissingStoreError, DamagedStoreError, FolderInPlaceError
 */
export function holdDataDirectory(dataDir: string, mayBeNew: boolean): DataDirectory {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const directory = realpathSync(dataDir)
  const release = takeFileLock(join(directory, 'lock'))
  if (release === null) throw new DataDirectoryInUseError(directory)
  try {
    const databasePath = join(directory, 'countersign.db')
    assertDatabaseIsThere(databasePath)
    if (!mayBeNew && sizeOf(databasePath) === 0) throw new MissingStoreError(databasePath)
    if (makeFile(databasePath)) for (const changed of [directory, dirname(directory)]) syncDirectory(changed)
    return {
      databasePath,
      release() {
        closeDatabaseFile(databasePath)
        release()
      },
    }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * SQLite would discard a log without a database, and with it acknowledged mutations.
 *
 * @throws DamagedStoreError, FolderInPlaceError
 */
export function assertDatabaseIsThere(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-sums']) assertNoFolder(path + suffix)
  if (sizeOf(path) === 0 && sizeOf(`${path}-wal`) > 0)
    throw new DamagedStoreError(path, 'empty or missing, although its -wal file exists')
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
