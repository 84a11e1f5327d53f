/** Rows that hold a document with its id and version. */
import type { DamagedRecordError } from '../../../ports/store/errors.js'
import { rowDocument } from '../../../ports/store/row-document.js'
import type { Connection, Row } from '../driver.js'

interface Versioned {
  readonly id: string
  readonly version: number
}

/** Returns what reads the document of a row. It throws DamagedRecordError. */
export function documentReader<T extends Versioned>(kind: DamagedRecordError['kind']): (row: Row) => T {
  return ({ id, version, document }) =>
    rowDocument(kind, { id: id as string, version: version as number }, document as string)
}

/** Returns false when the row is at another version; a new one is at 0. */
export function writeVersion(
  db: Connection,
  table: 'keys' | 'webhooks',
  written: Versioned,
  expectedVersion: number,
): boolean {
  const { id, version } = written
  const document = JSON.stringify(written)
  const insert = `INSERT INTO ${table} (id, version, document) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`
  if (expectedVersion === 0) return db.run(insert, id, version, document) === 1
  const update = `UPDATE ${table} SET version = ?, document = ? WHERE id = ? AND version = ?`
  return db.run(update, version, document, id, expectedVersion) === 1
}
