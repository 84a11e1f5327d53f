import type { Page, PageRequest } from '../../ports/store/page.js'
import { PageRoom } from '../../ports/store/page-room.js'
import { ofSoundRows } from '../../ports/store/row-document.js'
import type { Row } from './driver.js'

/** Converts rows to the items of a page. */
export interface PageReader<Item> {
  /** Returns the whole row with this `seq`; undefined when it was removed since. */
  readonly read: (seq: number) => Row | undefined
  readonly make: (row: Row) => Item
  /** Returns the position of a found row, as `next` names it. */
  readonly nameOf: (found: Row) => string
}

/**
 * Builds a page from found rows, which have only `seq` and the position. Reads no more whole rows than fit the page.
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
    items.push(...ofSoundRows([row], make, page.onDamaged))
  }
  return { items, next: last === undefined ? null : nameOf(last) }
}

/** Counts the texts of a row, which are nearly all of it. */
export function bytesOf(row: Row): number {
  let bytes = 0
  for (const value of Object.values(row)) if (typeof value === 'string') bytes += Buffer.byteLength(value)
  return bytes
}
