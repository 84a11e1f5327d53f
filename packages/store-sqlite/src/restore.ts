import { copyFileSync, mkdirSync, readdirSync, realpathSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fillNewFile, isLeftover, removeLeftovers, statIfThere, takeFileLock } from '@countersign/durable-files'
import { DamagedStoreError, DataDirectoryInUseError, syncDirectory } from './data-directory.js'
import { Connection, sqliteCode } from './driver.js'
import { assertKnown, isStore, migrate, schemaVersionOf } from './schema.js'
import { assertSchema } from './soundness.js'
import { endLog } from './tables/meta.js'

/** The data directory holds something already. */
class DataDirectoryNotEmptyError extends Error {
  override readonly name = 'DataDirectoryNotEmptyError'
  constructor(directory: string, found: string) {
    super(
      `The data directory ${directory} is not empty (${found}). Restore into an empty directory. Nothing was changed.`,
    )
  }
}

/** No data directory can be made there. */
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

/** The file is not what `backUpStore` made. */
class UnusableBackupError extends Error {
  override readonly name = 'UnusableBackupError'
  constructor(file: string, found: string, options?: ErrorOptions) {
    super(`${file} is not a usable backup (${found}). Nothing was restored.`, options)
  }
}

const DATABASE = 'countersign.db'

/** Files that may be there already: the operator restores the signing keys too, before or after. */
const MAY_BE_THERE = new Set(['lock', 'signing-keys.json', 'signing-keys.json.lock'])

/**
 * Puts a backup into an empty data directory, which it makes when it is missing, as a whole or not at all, and brings it to
 * the present schema; when that fails, nothing is left of it. From then on the store writes an audit log of its own, for a permit
 * that was signed after the backup may name an index of the former one.
 *
 * @throws UnusableDirectoryError, DataDirectoryNotEmptyError, DataDirectoryInUseError, UnusableBackupError, ForeignDatabaseError, NewerSchemaError
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

/** The first folder that it had to make. */
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
      // Only now: a restore that fails leaves nothing behind, not even the file of the lock.
      const release = takeFileLock(join(directory, 'lock'))
      if (release === null) throw new DataDirectoryInUseError(directory)
      releases.push(release)
      // From now on nobody else starts in this directory.
      assertEmpty(directory)
    })
    await removeLeftovers(directory, DATABASE)
  } finally {
    for (const release of releases) release()
  }
}

/** From a folder up to the last one, as far as they are empty. */
function removeFolders(folder: string, last: string): void {
  if (readdirSync(folder).length > 0) return
  rmdirSync(folder)
  if (folder !== last) removeFolders(dirname(folder), last)
}

function assertEmpty(directory: string): void {
  const found = readdirSync(directory).find((name) => !MAY_BE_THERE.has(name) && !isLeftover(name, DATABASE))
  if (found !== undefined) throw new DataDirectoryNotEmptyError(directory, found)
}

/** Leaves no log beside the file, which alone gets its final name. */
function adopt(copy: string, file: string): void {
  const db = Connection.open(copy)
  try {
    assertBackup(db, file)
    migrate(db, schemaVersionOf(db))
    assertSchema(db, file)
    endLog(db)
  } catch (error) {
    if (error instanceof DamagedStoreError) throw new UnusableBackupError(file, error.found, { cause: error })
    if (sqliteCode(error) === undefined) throw error
    throw new UnusableBackupError(file, (error as Error).message, { cause: error })
  } finally {
    db.close()
  }
}

/** Reads the whole file, so that damage shows now. */
function assertBackup(db: Connection, file: string): void {
  db.execute('PRAGMA cell_size_check = ON')
  assertKnown(db, file)
  if (!isStore(db)) throw new UnusableBackupError(file, 'it is empty')
  if (db.get('PRAGMA journal_mode')?.journal_mode === 'wal')
    throw new UnusableBackupError(file, 'it is a copy of a database file without its -wal file')
  const fault = db.get('PRAGMA integrity_check(1)')?.integrity_check
  if (fault !== 'ok') throw new UnusableBackupError(file, String(fault).replaceAll('\n', ' '))
}
