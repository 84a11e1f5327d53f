import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PageRequest } from '../../ports/store.js'
import type { Connection, Row, SqlValue } from './driver.js'

/** A condition on a column; `index` is one that begins with the column and goes on by time. */
export interface Condition {
  readonly sql: string
  readonly values: readonly SqlValue[]
  readonly index: string | null
}

/** A walk over a table whose rows have a time (`at_ms`), an `id` and a `seq`, newest first. */
export interface Scan {
  readonly table: string
  /** The index by time alone, for when no condition has an index. */
  readonly timeIndex: string
  /** The first one that has an index narrows the walk; the others are tested row by row. */
  readonly conditions: readonly Condition[]
  /** Inclusive, RFC 3339. */
  readonly from?: string | undefined
  /** Exclusive. */
  readonly to?: string | undefined
  /** A test that SQL cannot make, on the text of a column. */
  readonly keep?: { readonly column: string; readonly test: (text: string) => boolean } | undefined
}

/** Where a row stands in the walk. */
interface Position {
  readonly atMs: number
  readonly id: string
}

/** Without a limit, in SQLite. */
const ALL = -1

const FIRST_CHUNK = 256
const LARGEST_CHUNK = 4096

/**
 * The rows of one page of a walk, as their `seq`, and the position after it. The work is cut into chunks of index
 * entries with a turn of the event loop between them, so that a filter that hardly anything passes cannot stop the
 * process.
 */
export async function scanNewestFirst(
  db: Connection,
  scan: Scan,
  page: PageRequest,
): Promise<{ readonly seqs: readonly number[]; readonly next: string | null }> {
  const walk = statementsOf(scan)
  const end: Position = { atMs: scan.from === undefined ? Number.MIN_SAFE_INTEGER : Date.parse(scan.from), id: '' }
  let start = startOf(scan, page.after)
  const found: Row[] = []
  for (let size = FIRST_CHUNK; ; size = Math.min(2 * size, LARGEST_CHUNK)) {
    const last = db.get(walk.lastOfChunk, ...walk.narrowing, ...bounds(start, end), size - 1)
    const chunkEnd = last === undefined ? end : positionOf(last)
    const limit = scan.keep === undefined ? page.limit + 1 - found.length : ALL
    const rows = db.all(walk.chunk, ...walk.narrowing, ...bounds(start, chunkEnd), ...walk.testing, limit)
    for (const row of rows) if (scan.keep === undefined || scan.keep.test(row.tested as string)) found.push(row)
    if (found.length > page.limit) {
      const items = found.slice(0, page.limit)
      return { seqs: items.map(seqOf), next: textOf(positionOf(items.at(-1) as Row)) }
    }
    if (last === undefined) return { seqs: found.map(seqOf), next: null }
    start = chunkEnd
    await nextTurn()
  }
}

/** The statements of a walk, made of nothing but what the adapter itself wrote. */
function statementsOf(scan: Scan) {
  const narrowing = scan.conditions.find(({ index }) => index !== null)
  const testing = scan.conditions.filter((condition) => condition !== narrowing)
  const from = `FROM ${scan.table} INDEXED BY ${narrowing?.index ?? scan.timeIndex} WHERE ${narrowing?.sql ?? 'TRUE'}`
  const between = 'AND (at_ms, id) < (?, ?) AND (at_ms, id) >= (?, ?)'
  const order = 'ORDER BY at_ms DESC, id DESC LIMIT'
  const tests = testing.map(({ sql }) => ` AND ${sql}`).join('')
  return {
    narrowing: narrowing?.values ?? [],
    testing: testing.flatMap(({ values }) => values),
    lastOfChunk: `SELECT at_ms, id ${from} ${between} ${order} 1 OFFSET ?`,
    chunk: `SELECT at_ms, id, seq, ${scan.keep?.column ?? 'NULL'} AS tested ${from} ${between}${tests} ${order} ?`,
  }
}

function startOf(scan: Scan, after: string | null): Position {
  const to = { atMs: scan.to === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(scan.to), id: '' }
  if (after === null) return to
  const [atMs = '', id = ''] = after.split('/')
  const given = { atMs: Number(atMs), id }
  return given.atMs < to.atMs ? given : to
}

function bounds(start: Position, end: Position): readonly SqlValue[] {
  return [start.atMs, start.id, end.atMs, end.id]
}

function positionOf(row: Row): Position {
  return { atMs: row.at_ms as number, id: row.id as string }
}

function seqOf(row: Row): number {
  return row.seq as number
}

function textOf({ atMs, id }: Position): string {
  return `${atMs}/${id}`
}

/** The condition that a column has a value; none when there is no value to have. */
export function equality(column: string, value: string | undefined, index: string | null): readonly Condition[] {
  return value === undefined ? [] : [{ sql: `${column} = ?`, values: [value], index }]
}
