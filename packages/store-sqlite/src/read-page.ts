import { PageRoom } from '@countersign/store-port/page-room'
import type { Page, PageRequest } from '@countersign/store-port/store'
import type { Row } from './driver.js'

/** How rows become the items of a page. */
export interface PageReader<Item> {
  /** The whole row that has this `seq`; undefined when it was removed since. */
  readonly read: (seq: number) => Row | undefined
  readonly make: (row: Row) => Item
  /** The position of a row that was found, as `next` names it. */
  readonly nameOf: (found: Row) => string
}

/**
 * The page of the rows that were found for it, of which only the `seq` and the position are here: no more of them is read
 * than the page takes.
 *
 * @param found one more than the page may have, when there is one
 */
export async function readPage<Item>(
  found: readonly Row[],
  page: PageRequest,
  { read, make, nameOf }: PageReader<Item>,
): Promise<Page<Item>> {
  const room = new PageRoom(page)
  const rows: Row[] = []
  let last = found.length > page.limit ? found.at(-1) : undefined
  for (const [i, { seq }] of found.entries()) {
    const row = read(seq as number)
    if (row === undefined) continue
    if (!room.takes(bytesOf(row))) {
      last = found[i - 1]
      break
    }
    rows.push(row)
  }
  const items: Item[] = []
  for (const row of rows) {
    await page.pause?.()
    items.push(make(row))
  }
  return { items, next: last === undefined ? null : nameOf(last) }
}

/** Of the texts of a row, which are nearly all of it. */
export function bytesOf(row: Row): number {
  let bytes = 0
  for (const value of Object.values(row)) if (typeof value === 'string') bytes += Buffer.byteLength(value)
  return bytes
}
