import { DamagedStoreError } from './data-directory.js'
import { Connection, isDamage } from './driver.js'
import { assertKnown } from './schema.js'

/**
 * Reads a database and writes nothing. The library closes a connection only when its statements are garbage-collected.
 * A writable one would copy the log at that moment, and no page would be summed.
 *
 * @throws DamagedStoreError, NewerSchemaError, ForeignDatabaseError
 */
export function lookAt<T>(
  path: string,
  look: (db: Connection) => T,
  open: (path: string) => Connection = Connection.openReadOnly,
): T {
  return useDatabase(path, open, (db) => {
    db.execute('PRAGMA busy_timeout = 2000; PRAGMA cell_size_check = ON')
    assertKnown(db, path)
    return look(db)
  })
}

/**
 * Changes a database that no other connection has open. The connection is closed when this returns, if `change`
 * prepares no statement.
 *
 * @throws DamagedStoreError
 */
export function changeAlone(path: string, change: (db: Connection) => void): void {
  useDatabase(path, Connection.open, change)
}

function useDatabase<T>(path: string, open: (path: string) => Connection, use: (db: Connection) => T): T {
  let db: Connection | null = null
  try {
    db = open(path)
    return use(db)
  } catch (error) {
    if (isDamage(error)) throw new DamagedStoreError(path, (error as Error).message, { cause: error })
    throw error
  } finally {
    db?.close()
  }
}
