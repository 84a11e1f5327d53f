/**
 * Finds the unused space in a page of a database file. SQLite leaves old data there: a row that was replaced, or one
 * that moved to another page. Source: https://www.sqlite.org/fileformat2.html
 */

/** From byte `from` on, up to but not including byte `to`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A row or key whose end is in a separate chain of pages. */
interface Overflow {
  readonly firstPage: number
  /** The number of pages in the chain, and how many bytes of the last one are used. */
  readonly pages: number
  readonly lastBytes: number
}

interface TreePage {
  readonly free: readonly Span[]
  readonly overflows: readonly Overflow[]
}

/** A page is not what the database says it is. */
export class UnreadablePageError extends Error {
  override readonly name = 'UnreadablePageError'
}

const DATABASE_HEADER_BYTES = 100
/** A page of a chain names the next one before its content. */
export const NEXT_PAGE_BYTES = 4

const INTERIOR_INDEX = 2
const INTERIOR_TABLE = 5
const LEAF_INDEX = 10
const LEAF_TABLE = 13
const KINDS: ReadonlySet<number> = new Set([INTERIOR_INDEX, INTERIOR_TABLE, LEAF_INDEX, LEAF_TABLE])
const CHILD_BYTES = 4
const FREE_BLOCK_HEAD_BYTES = 4

/**
 * Whether a page in use belongs to a tree. The others belong to a chain and begin with a page number; below a size of
 * 2^25 pages, such a number cannot be mistaken for the kind of a tree's page.
 */
export function isTreePage(page: Buffer, isFirst: boolean): boolean {
  return KINDS.has(page[isFirst ? DATABASE_HEADER_BYTES : 0] as number)
}

/**
 * @param usable how many bytes of each page SQLite uses
 * @throws UnreadablePageError
 */
export function readTreePage(page: Buffer, isFirst: boolean, usable: number): TreePage {
  const head = isFirst ? DATABASE_HEADER_BYTES : 0
  const kind = page[head] as number
  const isInterior = kind === INTERIOR_INDEX || kind === INTERIOR_TABLE
  const cells = page.readUInt16BE(head + 3)
  const pointers = head + (isInterior ? 12 : 8)
  // 0 stands for 65,536.
  const contents = page.readUInt16BE(head + 5) || 65_536
  const gap = { from: pointers + 2 * cells, to: contents }
  if (gap.from > gap.to || gap.to > usable) throw new UnreadablePageError('The cells of a page overlap.')
  const overflows: Overflow[] = []
  if (kind !== INTERIOR_TABLE)
    for (let i = 0; i < cells; i += 1) {
      const overflow = overflowOf(page, page.readUInt16BE(pointers + 2 * i), kind, usable)
      if (overflow !== null) overflows.push(overflow)
    }
  return { free: [gap, ...freeBlocks(page, head, contents, usable)], overflows }
}

/** Without their headers, which SQLite reads. */
function freeBlocks(page: Buffer, head: number, contents: number, usable: number): Span[] {
  const blocks: Span[] = []
  let last = contents
  for (let at = page.readUInt16BE(head + 1); at !== 0; at = page.readUInt16BE(at)) {
    if (at < last || at + FREE_BLOCK_HEAD_BYTES > usable)
      throw new UnreadablePageError('The free blocks of a page have no order.')
    const size = page.readUInt16BE(at + 2)
    last = at + size
    if (size < FREE_BLOCK_HEAD_BYTES || last > usable)
      throw new UnreadablePageError('A free block does not have the size of one.')
    blocks.push({ from: at + FREE_BLOCK_HEAD_BYTES, to: last })
  }
  return blocks
}

function overflowOf(page: Buffer, cell: number, kind: number, usable: number): Overflow | null {
  let at = kind === INTERIOR_INDEX ? cell + CHILD_BYTES : cell
  const payload = readVarint(page, at)
  at = payload.end
  if (kind === LEAF_TABLE) at = readVarint(page, at).end
  const most = kind === LEAF_TABLE ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23
  if (payload.value <= most) return null
  const least = Math.floor(((usable - 12) * 32) / 255) - 23
  const room = usable - NEXT_PAGE_BYTES
  const fitting = least + ((payload.value - least) % room)
  const here = fitting <= most ? fitting : least
  if (at + here + NEXT_PAGE_BYTES > usable) throw new UnreadablePageError('A cell is larger than its page.')
  const rest = payload.value - here
  return {
    firstPage: page.readUInt32BE(at + here),
    pages: Math.ceil(rest / room),
    lastBytes: ((rest - 1) % room) + 1,
  }
}

/** Seven bits per byte, most significant first; a ninth byte has eight. */
function readVarint(page: Buffer, from: number): { readonly value: number; readonly end: number } {
  let value = 0
  for (let i = 0; i < 8; i += 1) {
    const byte = page[from + i]
    if (byte === undefined) throw new UnreadablePageError('A cell is outside of its page.')
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return { value, end: from + i + 1 }
  }
  return { value: value * 256 + (page[from + 8] ?? 0), end: from + 9 }
}
