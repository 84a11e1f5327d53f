import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isFileLocked } from '../../durable-files/file-lock.js'
import { assertOwnDocuments } from './damaged-rows.js'
import { assertDatabaseIsThere, DamagedStoreError } from './data-directory.js'
import { readThrough, UncheckedStoreError } from './fault-report.js'
import { openUntouched } from './open-untouched.js'
import { assertAsWritten } from './page-sums.js'
import { KNOWN_SCHEMA, schemaVersionOf } from './schema.js'
import { assertReadable } from './soundness.js'
import { assertNotMoved } from './tables/move-note.js'
import { lookAt } from './use-database.js'

export interface SqliteInspection {
  readonly schema: number
  /** The schema version of this release. */
  readonly knownSchema: number
  /** Milliseconds since 1970; null without an entry. */
  readonly newestEntryAt: number | null
}

/**
 * Inspects a store, even one that a server uses, and changes nothing.
 *
 * @throws DamagedStoreError, NewerSchemaError, ForeignDatabaseError, DamagedRecordError, MovedStoreError
 */
export function inspectSqliteStore(path: string): SqliteInspection {
  assertDatabaseIsThere(path)
  return lookAt(
    path,
    (db) => {
      const schema = schemaVersionOf(db)
      if (schema > 0) assertReadable(db, path)
      if (schema > 0) assertNotMoved(db, path)
      if (schema > 0) assertOwnDocuments(db)
      const newest = schema > 0 ? db.get('SELECT max(at_ms) AS at_ms FROM audit_entries')?.at_ms : null
      return { schema, knownSchema: KNOWN_SCHEMA, newestEntryAt: (newest ?? null) as number | null }
    },
    openUntouched,
  )
}

/**
 * Checks the pages of a store that no server uses, as far as the next start would. Changes nothing.
 *
 * @throws DamagedStoreError: the next start is refused
 */
export async function assertStartable(path: string): Promise<void> {
  assertDatabaseIsThere(path)
  const fault = await pageFault(path, false)
  if (fault !== null) throw new DamagedStoreError(path, fault)
}

/**
 * Checks every page of a store that no server uses, and every text and the hash of every audit entry of any store.
 * Changes nothing, and keeps no server from starting.
 *
 * @throws DamagedStoreError, UncheckedStoreError
 */
export async function assertSoundThroughout(path: string): Promise<void> {
  assertDatabaseIsThere(path)
  const inPages = await pageFault(path, true)
  let inTexts: string | null
  try {
    inTexts = await readThrough(path, { hashes: true })
  } catch (error) {
    if (inPages === null || !(error instanceof UncheckedStoreError)) throw error
    inTexts = `its text values could not be checked: ${error.found}`
  }
  const found = [inPages, inTexts].filter((fault) => fault !== null)
  if (found.length > 0) throw new DamagedStoreError(path, found.join('; '))
}

/** Null while a server uses the store, because its pages change between two reads. */
async function pageFault(path: string, readsAll: boolean): Promise<string | null> {
  const lock = join(dirname(path), 'lock')
  // A starting server writes to the sums first.
  const sums = () => statSync(`${path}-sums`, { throwIfNoEntry: false, bigint: true })?.mtimeNs
  const before = sums()
  if (isFileLocked(lock)) return null
  try {
    await assertAsWritten(path, { readsAll })
    return null
  } catch (error) {
    if (isFileLocked(lock) || sums() !== before) return null
    if (error instanceof DamagedStoreError) return error.found
    throw error
  }
}
