import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { fillNewFile } from '../../durable-files/new-file.js'
import { statIfThere } from '../../durable-files/stat-if-there.js'
import { Connection } from './driver.js'
import { assertKnown, isStore } from './schema.js'

/** The store cannot be backed up into that file. */
class BackupRefusedError extends Error {
  override readonly name = 'BackupRefusedError'
}

/**
 * Copies a store, even one that a server writes to, into a new file (mode 0600): its state at one moment after the
 * call, with every mutation that was durable before. The server continues to write; its log grows until the copy is
 * done.
 *
 * @throws BackupRefusedError, ForeignDatabaseError, NewerSchemaError, or the driver's error when the store is damaged
 */
export async function backUpStore(databasePath: string, file: string): Promise<void> {
  if (existsSync(file)) throw fileExists(file)
  const folder = dirname(file)
  if (statIfThere(folder)?.isDirectory() !== true)
    throw new BackupRefusedError(`The directory ${folder} does not exist. Create it, or choose another directory.`)
  const db = Connection.openReadOnly(databasePath)
  try {
    db.execute('PRAGMA busy_timeout = 10000; PRAGMA cell_size_check = ON')
    assertKnown(db, databasePath)
    if (!isStore(db)) throw new BackupRefusedError(`${databasePath} is empty. Start the server first.`)
    await fillNewFile(file, (temporary) => {
      db.run('VACUUM INTO ?', temporary)
    })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    // The file was created in the meantime.
    if (code === 'EEXIST') throw fileExists(file, { cause: error })
    if (syscall === undefined) throw error
    throw new BackupRefusedError(
      `${file} cannot be written (${code}). Choose a directory that this user may write to and that has enough free space.`,
      { cause: error },
    )
  } finally {
    db.close()
  }
}

function fileExists(file: string, options?: ErrorOptions): BackupRefusedError {
  return new BackupRefusedError(
    `${file} already exists, and a backup never replaces a file. Choose another name.`,
    options,
  )
}
