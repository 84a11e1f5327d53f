import { DamagedStoreError } from './data-directory.js'
import { Connection, type Row } from './driver.js'
import { migrate } from './schema.js'

/**
 * A file up to this size is checked completely, which takes less than 0.1 s; of a larger one only the edges are read.
 */
const WHOLE_CHECK_BYTES = 16 * 1024 * 1024

/**
 * Looks for damage as far as that is quick; damage that it misses is found when the page is read.
 *
 * @throws DamagedStoreError, or the driver's error when SQLite itself finds the damage.
 */
export function assertReadable(db: Connection, path: string): void {
  if (sizeOf(db) <= WHOLE_CHECK_BYTES) {
    const fault = db.get('PRAGMA quick_check(1)')?.quick_check
    if (fault !== 'ok') throw new DamagedStoreError(path, String(fault).replaceAll('\n', ' '))
  } else {
    for (const { name, type } of schemaOf(db)) if (type === 'table') readEdges(db, name as string)
  }
}

/** @throws DamagedStoreError when the schema of the file differs from that of its version. */
export function assertSchema(db: Connection, path: string): void {
  if (JSON.stringify(schemaOf(db)) !== JSON.stringify(intendedSchema()))
    throw new DamagedStoreError(path, 'its tables do not match its schema version')
}

function readEdges(db: Connection, table: string): void {
  db.get(`SELECT * FROM ${table} LIMIT 1`)
  db.get(`SELECT * FROM ${table} ORDER BY 1 DESC LIMIT 1`)
}

function sizeOf(db: Connection): number {
  return (db.get('PRAGMA page_count')?.page_count as number) * (db.get('PRAGMA page_size')?.page_size as number)
}

function intendedSchema(): readonly Row[] {
  const model = Connection.open(':memory:')
  try {
    migrate(model, 0)
    return schemaOf(model)
  } finally {
    model.close()
  }
}

/** Without the objects that SQLite adds itself. */
function schemaOf(db: Connection): readonly Row[] {
  const rows = db.all("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
  return rows.map(({ type, name, sql }) => ({ type: type ?? null, name: name ?? null, sql: sql ?? null }))
}
