import { copyFileSync, mkdirSync, readdirSync, realpathSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { takeFileLock } from '../../durable-files/file-lock.js'
import { fillNewFile } from '../../durable-files/new-file.js'
import { isLeftover, removeLeftovers } from '../../durable-files/replace-file.js'
import { statIfThere } from '../../durable-files/stat-if-there.js'
import { DamagedStoreError, DataDirectoryInUseError, syncDirectory } from './data-directory.js'
import { Connection, sqliteCode } from './driver.js'
import { assertKnown, ForeignDatabaseError, isStore, migrate, schemaVersionOf } from './schema.js'
import { assertSchema } from './soundness.js'
import { endLog } from './tables/meta.js'

class DataDirectoryNotEmptyError extends Error {
  override readonly name = 'DataDirectoryNotEmptyError'
  constructor(directory: string, found: string) {
    super(
      `The data directory ${directory} is not empty (${found}). Restore into an empty directory. Nothing was changed.`,
    )
  }
}

/** A data directory cannot be created there. */
class UnusableDirectoryError extends Error {
  override readonly name = 'UnusableDirectoryError'
  constructor(directory: string, cause: unknown) {
    const { code } = cause as NodeJS.ErrnoException
    super(
      `The directory ${directory} cannot be created (${code}). Set DATA_DIR to a path where this user may create a directory.`,
      {
        cause,
      },
    )
  }
}

/** `backUpStore` did not write this file. */
export class UnusableBackupError extends Error {
  override readonly name = 'UnusableBackupError'
  constructor(file: string, found: string, options?: ErrorOptions) {
    super(`${file} is not a usable backup (${found}).`, options)
  }
}

const DATABASE = 'countersign.db'

/**
 * Files that may already exist: the operator restores the signing keys too, before or after. Earlier checkpoints are
 * ignored.
 */
const MAY_BE_THERE = new Set([
  'lock',
  'signing-keys.json',
  'signing-keys.json.lock',
  'checkpoints.ndjson',
  'known-signing-keys.json',
])

/**
 * Restores a backup into an empty data directory, which it creates when missing, atomically, and migrates it to the
 * present schema; a failure leaves nothing behind. From then on the store writes a new audit log, because a permit that
 * was signed after the backup may name an index of the former one.
 *
 * @throws UnusableDirectoryError, DataDirectoryNotEmptyError, DataDirectoryInUseError, UnusableBackupError,
 *   NewerSchemaError
 */
export async function restoreStore(file: string, dataDir: string): Promise<void> {
  if (statIfThere(file)?.isFile() !== true) throw new UnusableBackupError(file, 'the file does not exist')
  const made = makeDirectory(dataDir)
  const directory = realpathSync(dataDir)
  try {
    assertEmpty(directory)
    await restoreInto(directory, file)
  } catch (error) {
    if (made !== undefined) removeFolders(directory, realpathSync(made))
    throw error
  }
  syncDirectory(dirname(directory))
}

/** Returns the first folder that it had to create. */
function makeDirectory(dataDir: string): string | undefined {
  try {
    return mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new UnusableDirectoryError(dataDir, cause)
  }
}

async function restoreInto(directory: string, file: string): Promise<void> {
  const releases: (() => void)[] = []
  try {
    await fillNewFile(join(directory, DATABASE), (temporary) => {
      copyFileSync(file, temporary)
      adopt(temporary, file)
      // Only now, because a failed restore must leave nothing, not even the lock file.
      const release = takeFileLock(join(directory, 'lock'))
      if (release === null) throw new DataDirectoryInUseError(directory)
      releases.push(release)
      // From now on no other process starts in this directory.
      assertEmpty(directory)
    })
    await removeLeftovers(directory, DATABASE)
  } finally {
    for (const release of releases) release()
  }
}

/** Removes empty folders, from one up to the last. */
function removeFolders(folder: string, last: string): void {
  if (readdirSync(folder).length > 0) return
  rmdirSync(folder)
  if (folder !== last) removeFolders(dirname(folder), last)
}

function assertEmpty(directory: string): void {
  const found = readdirSync(directory).find((name) => !MAY_BE_THERE.has(name) && !isLeftover(name, DATABASE))
  if (found !== undefined) throw new DataDirectoryNotEmptyError(directory, found)
}

/** Leaves no log next to the file, because only the file gets its final name. */
function adopt(copy: string, file: string): void {
  const db = Connection.open(copy)
  try {
    assertBackup(db, file)
    migrate(db, schemaVersionOf(db))
    assertSchema(db, file)
    endLog(db)
  } catch (error) {
    if (error instanceof DamagedStoreError) throw new UnusableBackupError(file, error.found, { cause: error })
    if (error instanceof ForeignDatabaseError)
      throw new UnusableBackupError(file, 'it belongs to another program', { cause: error })
    if (sqliteCode(error) === undefined) throw error
    throw new UnusableBackupError(file, (error as Error).message, { cause: error })
  } finally {
    db.close()
  }
}

/** Reads the whole file, so that damage is found now. */
function assertBackup(db: Connection, file: string): void {
  db.execute('PRAGMA cell_size_check = ON')
  assertKnown(db, file)
  if (!isStore(db)) throw new UnusableBackupError(file, 'it is empty')
  if (db.get('PRAGMA journal_mode')?.journal_mode === 'wal')
    throw new UnusableBackupError(file, 'it is a copy of a database file without its -wal file')
  const fault = db.get('PRAGMA integrity_check(1)')?.integrity_check
  if (fault !== 'ok') throw new UnusableBackupError(file, String(fault).replaceAll('\n', ' '))
}
