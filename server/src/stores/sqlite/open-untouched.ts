import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isFileLocked } from '../../durable-files/file-lock.js'
import { Connection } from './driver.js'

/**
 * Opens a database for inspection, and leaves every file next to it unchanged. SQLite would write the index of the log
 * (`-shm`), and create a missing log. While a server runs, the server maintains both itself; both stay unchanged, too,
 * where a log was copied without its index.
 *
 * For a process that opens the database in no other way: SQLite shares the index among all connections of a process.
 */
export function openUntouched(path: string): Connection {
  if (isFileLocked(join(dirname(path), 'lock'))) return Connection.openReadOnly(path)
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size
  if (logBytes !== undefined && existsSync(`${path}-shm`)) return Connection.openReadOnly(path, 'readonly_shm=1')
  return Connection.openReadOnly(path, ...((logBytes ?? 0) > 0 ? [] : ['immutable=1']))
}
