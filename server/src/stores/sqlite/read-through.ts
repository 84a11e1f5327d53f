/**
 * Reads a database to its last text and prints what is wrong with it. It is a separate program, because the library
 * aborts its process when it reads a text that is not UTF-8. The caller then learns no more than that.
 */
import { isUtf8 } from 'node:buffer'
import { leafHash } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import { type Connection, isDamage, type Row } from './driver.js'
import { report } from './fault-report.js'
import { openUntouched } from './open-untouched.js'
import { assertKnown, schemaVersionOf } from './schema.js'
import { walkRows } from './walk-rows.js'

interface Column {
  readonly name: string
  readonly isText: boolean
}

const path = process.argv[2] as string
/** Whether audit entries must also match their hashes. */
const checksHashes = process.argv[3] === 'hashes'
try {
  report(process.stdout, { fault: faultOf(path) })
} catch (error) {
  const { name, message } = error as Error
  if (isDamage(error)) report(process.stdout, { fault: message })
  // Opening the store reports these.
  else if (name === 'NewerSchemaError' || name === 'ForeignDatabaseError') report(process.stdout, { fault: null })
  else report(process.stdout, { failure: message })
}

function faultOf(path: string): string | null {
  const db = openUntouched(path)
  try {
    db.execute('PRAGMA busy_timeout = 10000; PRAGMA cell_size_check = ON')
    assertKnown(db, path)
    if (schemaVersionOf(db) === 0) return null
    return db.snapshot(() => schemaFault(db) ?? integrityFault(db) ?? rowFault(db))
  } finally {
    db.close()
  }
}

function schemaFault(db: Connection): string | null {
  const columns = ['type', 'name', 'tbl_name', 'sql'].map((name) => ({ name, isText: true }))
  return tableFault(db, 'sqlite_schema', columns)
}

function integrityFault(db: Connection): string | null {
  const found = db.get('PRAGMA integrity_check(1)')?.integrity_check
  return found === 'ok' ? null : String(found).replaceAll('\n', ' ')
}

function rowFault(db: Connection): string | null {
  const tables = db.all(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  )
  for (const { name } of tables) {
    const table = name as string
    const columns = db
      .all(`PRAGMA table_info(${table})`)
      .map((column) => ({ name: column.name as string, isText: column.type === 'TEXT' }))
    const fault = tableFault(db, table, columns)
    if (fault !== null) return fault
  }
  return null
}

function tableFault(db: Connection, table: string, columns: readonly Column[]): string | null {
  // Reads a text as bytes, so that the library does not decode it.
  const taken = columns.flatMap(({ name }) => [
    `typeof(${name}) AS type_${name}`,
    `CASE typeof(${name}) WHEN 'text' THEN CAST(${name} AS BLOB) END AS ${name}`,
  ])
  let row = 0
  for (const found of walkRows(db, table, taken.join(', '))) {
    row += 1
    const fault = valuesFault(found, columns) ?? documentFault(table, found)
    if (fault !== null) return `${table}, row ${row}: ${fault}`
  }
  return null
}

function valuesFault(row: Row, columns: readonly Column[]): string | null {
  for (const { name, isText } of columns) {
    const type = row[`type_${name}`]
    if (type !== 'null' && type !== (isText ? 'text' : 'integer')) return `${name} contains a value of type ${type}`
    if (type === 'text' && !isUtf8(bytesOf(row, name))) return `${name} contains text that is not UTF-8`
  }
  return null
}

function documentFault(table: string, row: Row): string | null {
  if (row.type_document !== 'text') return null
  let document: unknown
  try {
    document = JSON.parse(bytesOf(row, 'document').toString('utf8'))
  } catch {
    return 'document is not JSON'
  }
  if (!checksHashes || table !== 'audit_entries') return null
  const { leaf, ...entry } = document as AuditEntry
  return leafHash(entry) === leaf ? null : 'the audit entry does not match its hash'
}

function bytesOf(row: Row, column: string): Buffer {
  return Buffer.from(row[column] as unknown as ArrayBuffer)
}
