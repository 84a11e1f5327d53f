import type { Connection, Row } from './driver.js'

const CHUNK = 500

/**
 * Yields all rows of a table, a chunk at a time, each found by the key of the row before it. @param taken the columns
 * to select
 */
export function* walkRows(db: Connection, table: string, taken: string): Generator<Row> {
  // Integers may exceed a JavaScript number, and the library may be unable to read a text, so both are selected as hex.
  const hasRowid = db.get('SELECT 1 FROM pragma_table_list(?) WHERE wr = 1', table) === undefined
  const key = hasRowid ? 'rowid' : primaryKeyOf(db, table)
  const keyAsText = hasRowid ? 'CAST(rowid AS TEXT)' : `hex(${key})`
  const keyFromText = hasRowid ? 'CAST(? AS INTEGER)' : 'CAST(unhex(?) AS TEXT)'
  const read = (where: string) =>
    `SELECT ${keyAsText} AS walk_key, ${taken} FROM ${table} ${where} ORDER BY ${key} LIMIT ${CHUNK}`
  let rows = db.all(read(''))
  for (;;) {
    yield* rows
    const last = rows.at(-1)?.walk_key
    if (last === undefined || rows.length < CHUNK) return
    rows = db.all(read(`WHERE ${key} > ${keyFromText}`), last)
    if (rows[0]?.walk_key === last) throw new Error(`The rows of ${table} have no order.`)
  }
}

/** Each table without row ids has a key of one column. */
function primaryKeyOf(db: Connection, table: string): string {
  return db.get('SELECT name FROM pragma_table_info(?) WHERE pk = 1', table)?.name as string
}
