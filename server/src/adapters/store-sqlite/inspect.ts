import { dirname, join } from 'node:path'
import { takeFileLock } from '../files/file-lock.js'
import { assertDatabaseIsThere, DamagedStoreError } from './data-directory.js'
import { Connection, sqliteCode } from './driver.js'
import { assertAsWritten } from './page-sums.js'
import { assertKnown, KNOWN_SCHEMA, schemaVersionOf } from './schema.js'
import { assertReadable } from './soundness.js'
import { readThrough } from './told-fault.js'

export interface SqliteInspection {
  readonly schema: number
  /** The one that this release works on. */
  readonly knownSchema: number
  /** Milliseconds since 1970, null without an entry. */
  readonly newestEntryAt: number | null
}

/**
 * Looks at a store, also at one that a server works on, and changes nothing.
 *
 * @throws DamagedStoreError, NewerSchemaError, ForeignDatabaseError
 */
export function inspectSqliteStore(path: string): SqliteInspection {
  assertDatabaseIsThere(path)
  let db: Connection | null = null
  try {
    db = Connection.openReadOnly(path)
    db.execute('PRAGMA busy_timeout = 2000; PRAGMA cell_size_check = ON')
    assertKnown(db, path)
    const schema = schemaVersionOf(db)
    if (schema > 0) assertReadable(db, path)
    const newest = schema > 0 ? db.get('SELECT max(at_ms) AS at_ms FROM audit_entries')?.at_ms : null
    return { schema, knownSchema: KNOWN_SCHEMA, newestEntryAt: (newest ?? null) as number | null }
  } catch (error) {
    const code = sqliteCode(error)
    if (code?.startsWith('SQLITE_CORRUPT') || code?.startsWith('SQLITE_NOTADB'))
      throw new DamagedStoreError(path, (error as Error).message, { cause: error })
    throw error
  } finally {
    db?.close()
  }
}

/**
 * Looks at every page of a store that no server works on, and at every text and the hash of every audit entry of any store.
 *
 * @throws DamagedStoreError
 */
export async function assertSoundThroughout(path: string): Promise<void> {
  assertDatabaseIsThere(path)
  const release = takeFileLock(join(dirname(path), 'lock'))
  try {
    // Beside a server that works on them the pages change from one look to the next.
    if (release !== null) await assertAsWritten(path, { readsAll: true })
  } finally {
    release?.()
  }
  const fault = await readThrough(path, { hashes: true })
  if (fault !== null) throw new DamagedStoreError(path, fault)
}
