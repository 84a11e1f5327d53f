import type { Store } from '../../ports/store.js'
import { DamagedStoreError, holdDataDirectory } from './data-directory.js'
import { Connection, sqliteCode } from './driver.js'
import { assertKnown, configureWriter, migrate } from './schema.js'
import { assertReadable, assertSchema } from './soundness.js'
import { SqliteStore } from './sqlite-store.js'

/**
 * Opens the embedded store in a directory, which it makes when it is missing, and holds the directory until `close`.
 *
 * @throws DataDirectoryInUseError, DamagedStoreError, NewerSchemaError, ForeignDatabaseError: nothing was changed.
 */
export async function openSqliteStore({ dataDir }: { readonly dataDir: string }): Promise<Store> {
  const directory = holdDataDirectory(dataDir)
  try {
    prepare(directory.databasePath)
    return new SqliteStore(directory)
  } catch (error) {
    directory.release()
    throw error
  }
}

function prepare(path: string): void {
  const db = Connection.open(path)
  try {
    assertKnown(db, path)
    configureWriter(db)
    assertReadable(db, path)
    migrate(db)
    assertSchema(db, path)
  } catch (error) {
    const code = sqliteCode(error)
    if (code?.startsWith('SQLITE_CORRUPT') || code?.startsWith('SQLITE_NOTADB'))
      throw new DamagedStoreError(path, (error as Error).message, { cause: error })
    throw error
  } finally {
    db.close()
  }
}
