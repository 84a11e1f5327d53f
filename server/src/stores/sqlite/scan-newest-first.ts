import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Page, PageRequest } from '../../ports/store/page.js'
import type { Connection, Row, SqlValue } from './driver.js'
import { type PageReader, readPage } from './read-page.js'

/** A condition on columns; `index` begins with these columns and continues in the order of the walk. */
export interface Condition {
  readonly sql: string
  readonly values: readonly SqlValue[]
  readonly index: string | null
}

/** A walk over a table, newest first. */
export interface Scan {
  readonly table: string
  /** By time (`at_ms`) and then `id`, or by `seq`, the order of writing. */
  readonly by: 'time' | 'seq'
  /** The index for the order of the walk alone, used when no condition has an index; null for the table itself. */
  readonly index: string | null
  /** The first one with an index narrows the walk; the others are tested row by row. */
  readonly conditions: readonly Condition[]
  /** Inclusive, RFC 3339. */
  readonly from?: string | undefined
  /** Exclusive. */
  readonly to?: string | undefined
  /** A test on the text of a column that SQL cannot do. */
  readonly keep?: { readonly column: string; readonly test: (text: string) => boolean } | undefined
}

/** The position of a row in the walk: its time and id, or its `seq`. */
type Position = readonly [number, string] | readonly [number]

const COLUMNS = { time: ['at_ms', 'id'], seq: ['seq'] } as const

/** SQLite's value for no limit. */
const ALL = -1

const FIRST_CHUNK = 256
const LARGEST_CHUNK = 4096

/** One page of a walk. */
export async function pageOf<Item>(
  db: Connection,
  scan: Scan,
  page: PageRequest,
  reader: Omit<PageReader<Item>, 'nameOf'>,
): Promise<Page<Item>> {
  const found = await scanNewestFirst(db, scan, page)
  return readPage(found, page, { ...reader, nameOf: (row) => positionOf(scan, row).join('/') })
}

/**
 * Returns the positions of the rows of one page, plus one more if there is one. The work is done in chunks of index
 * entries, with a turn of the event loop between them, so that a filter that matches hardly anything cannot block the
 * process.
 */
async function scanNewestFirst(db: Connection, scan: Scan, page: PageRequest): Promise<readonly Row[]> {
  const walk = statementsOf(scan)
  const end = edge(scan, scan.from === undefined ? Number.MIN_SAFE_INTEGER : Date.parse(scan.from))
  let start = startOf(scan, page.after)
  const found: Row[] = []
  for (let size = FIRST_CHUNK; ; size = Math.min(2 * size, LARGEST_CHUNK)) {
    const last = db.get(walk.lastOfChunk, ...walk.narrowing, ...start, ...end, size - 1)
    const chunkEnd = last === undefined ? end : positionOf(scan, last)
    const limit = scan.keep === undefined ? page.limit + 1 - found.length : ALL
    const rows = db.all(walk.chunk, ...walk.narrowing, ...start, ...chunkEnd, ...walk.testing, limit)
    for (const row of rows) if (scan.keep === undefined || scan.keep.test(row.tested as string)) found.push(row)
    if (found.length > page.limit) return found.slice(0, page.limit + 1)
    if (last === undefined) return found
    start = chunkEnd
    await (page.pause ?? nextTurn)()
  }
}

/** The statements of a walk, built only from texts of the adapter. */
function statementsOf(scan: Scan) {
  const narrowing = scan.conditions.find(({ index }) => index !== null)
  const testing = scan.conditions.filter((condition) => condition !== narrowing)
  const index = narrowing?.index ?? scan.index
  const from = `FROM ${scan.table} ${index === null ? 'NOT INDEXED' : `INDEXED BY ${index}`} WHERE ${narrowing?.sql ?? 'TRUE'}`
  const columns: readonly string[] = COLUMNS[scan.by]
  const [position, values] = [columns.join(', '), columns.map(() => '?').join(', ')]
  const between = `AND (${position}) < (${values}) AND (${position}) >= (${values})`
  const order = `ORDER BY ${columns.map((column) => `${column} DESC`).join(', ')} LIMIT`
  const tests = testing.map(({ sql }) => ` AND ${sql}`).join('')
  return {
    narrowing: narrowing?.values ?? [],
    testing: testing.flatMap(({ values }) => values),
    lastOfChunk: `SELECT ${position} ${from} ${between} ${order} 1 OFFSET ?`,
    chunk: `SELECT ${position}, seq, ${scan.keep?.column ?? 'NULL'} AS tested ${from} ${between}${tests} ${order} ?`,
  }
}

function startOf(scan: Scan, after: string | null): Position {
  const to = edge(scan, scan.to === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(scan.to))
  if (after === null) return to
  const [first = '', ...id] = after.split('/')
  return Number(first) < to[0] ? position(scan, Number(first), id.join('/')) : to
}

/** Before every row of that time, or of that `seq`. */
function edge(scan: Scan, first: number): Position {
  return position(scan, first, '')
}

function position({ by }: Scan, first: number, id: string): Position {
  return by === 'time' ? [first, id] : [first]
}

function positionOf(scan: Scan, row: Row): Position {
  return scan.by === 'time' ? [row.at_ms as number, row.id as string] : [row.seq as number]
}

/** The condition that a column has a value; none when no value is given. */
export function equality(column: string, value: string | undefined, index: string | null): readonly Condition[] {
  return value === undefined ? [] : [{ sql: `${column} = ?`, values: [value], index }]
}
