import { closeSync, fsyncSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { assertNoFolder, makeFile, takeFileLock } from '@countersign/durable-files'

/** Another process works in the data directory. */
export class DataDirectoryInUseError extends Error {
  override readonly name = 'DataDirectoryInUseError'
  constructor(directory: string) {
    super(
      `Another process uses the data directory ${directory}. ` +
        'Stop that process first, or choose another data directory.',
    )
  }
}

/** A file of the data directory cannot be what the store left. */
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

/** The signing keys have signed what this store would have to hold. */
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

/** The directory of one store, held for this process alone until it is released or the process ends. */
export interface DataDirectory {
  readonly databasePath: string
  release(): void
}

/**
 * Makes the directory (mode 0700) and its files (0600) where they are missing, and takes hold of it.
 *
 * @param mayBeNew whether there may be no database yet
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
    return { databasePath, release }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * SQLite would throw a log away that has no database, and with it what was acknowledged.
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
