/** Overwrites old data that SQLite left in pages, or parts of pages, that are no longer used. */
import type { Connection } from '../driver.js'
import { isTreePage, NEXT_PAGE_BYTES, readTreePage, type Span, UnreadablePageError } from './free-space.js'

/** How many pages are read at a time, which takes a few milliseconds. Other writes run in between. */
const SLICE_READS = 128
/** A larger database has chain pages that look like tree pages. */
const MOST_PAGES = 2 ** 25

/**
 * Wipes some pages from this number on; 1 is the first. One transaction.
 *
 * @returns the number to continue with; null after the last page
 * @throws UnreadablePageError: the database is damaged, and pages that seem unused may be in use. Nothing was changed
 */
export function wipePages(db: Connection, from: number): number | null {
  return db.transaction(() => {
    const pages = new Pages(db)
    const free = freePages(pages, from, from + SLICE_READS)
    const end = pages.reads + SLICE_READS
    let number = from
    for (; number <= pages.count && pages.reads < end; number += 1) {
      const span = free.get(number)
      if (span === undefined) wipeUsedPage(pages, number)
      else pages.wipe(number, pages.read(number), [span])
    }
    return number <= pages.count ? number : null
  })
}

/** A page of a chain is wiped with the page at which the chain begins, because that page knows its length. */
function wipeUsedPage(pages: Pages, number: number): void {
  const page = pages.read(number)
  const isFirst = number === 1
  if (!isTreePage(page, isFirst)) return
  const { free, overflows } = readTreePage(page, isFirst, pages.usable)
  pages.wipe(number, page, free)
  for (const { firstPage, pages: length, lastBytes } of overflows) {
    if (length > pages.count) throw new UnreadablePageError('A row is larger than the database.')
    let last = firstPage
    let end = pages.read(last)
    for (let i = 1; i < length; i += 1) {
      last = end.readUInt32BE(0)
      end = pages.read(last)
    }
    pages.wipe(last, end, [{ from: NEXT_PAGE_BYTES + lastBytes, to: pages.usable }])
  }
}

const FIRST_TRUNK = 32
const TRUNK_HEAD_BYTES = 8

/**
 * Returns the pages among these that are not in use, with the part of each that is not read. They are in a list of
 * lists, whose order may change in the next transaction.
 */
function freePages(pages: Pages, from: number, to: number): ReadonlyMap<number, Span> {
  const free = new Map<number, Span>()
  const add = (number: number, span: Span): void => {
    if (number >= from && number < to) free.set(number, span)
  }
  let trunks = 0
  for (let trunk = pages.read(1).readUInt32BE(FIRST_TRUNK); trunk !== 0; trunks += 1) {
    const page = pages.read(trunk)
    const leaves = page.readUInt32BE(4)
    if (trunks > pages.count || leaves > pages.usable / 4 - 2)
      throw new UnreadablePageError('The list of free pages is damaged.')
    add(trunk, { from: TRUNK_HEAD_BYTES + 4 * leaves, to: pages.usable })
    for (let i = 0; i < leaves; i += 1) add(page.readUInt32BE(TRUNK_HEAD_BYTES + 4 * i), { from: 0, to: pages.usable })
    trunk = page.readUInt32BE(0)
  }
  return free
}

/** The largest page size. */
const ZEROS = Buffer.alloc(65_536)

/** The pages themselves, as SQLite has them now. */
class Pages {
  /** How many bytes of each page SQLite uses. */
  readonly usable: number
  readonly count: number
  /** How often a page was read so far. */
  reads = 0

  constructor(private readonly db: Connection) {
    const reserved = this.read(1)[20] as number
    this.usable = numberOf(db, 'page_size') - reserved
    this.count = numberOf(db, 'page_count')
    if (this.count >= MOST_PAGES) throw new UnreadablePageError('The database is too large to be wiped.')
    // Such a database has another kind of page.
    if (numberOf(db, 'auto_vacuum') !== 0) throw new UnreadablePageError('A database with auto_vacuum cannot be wiped.')
  }

  read(number: number): Buffer {
    this.reads += 1
    const row = this.db.get('SELECT hex(data) AS data FROM sqlite_dbpage WHERE pgno = ?', number)
    if (row === undefined) throw new UnreadablePageError(`There is no page ${number}.`)
    return Buffer.from(row.data as string, 'hex')
  }

  /** @param page as `read` returned it */
  wipe(number: number, page: Buffer, spans: readonly Span[]): void {
    const unclean = spans.filter(({ from, to }) => !page.subarray(from, to).equals(ZEROS.subarray(0, to - from)))
    for (const { from, to } of unclean) page.fill(0, from, to)
    if (unclean.length > 0)
      this.db.run('UPDATE sqlite_dbpage SET data = unhex(?) WHERE pgno = ?', page.toString('hex'), number)
  }
}

function numberOf(db: Connection, pragma: string): number {
  return db.get(`PRAGMA ${pragma}`)?.[pragma] as number
}
