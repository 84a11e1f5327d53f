import type { Page, PageRequest } from '../../ports/store/page.js'
import type { Connection } from './driver.js'
import { type PageReader, readPage } from './read-page.js'

/**
 * Reads a page of a whole table, in the order in which its rows were written.
 *
 * @param read as in `PageReader`: `seq` is the rowid
 */
export function readInOrder<Item>(
  db: Connection,
  table: string,
  page: PageRequest,
  reader: Omit<PageReader<Item>, 'nameOf'>,
): Promise<Page<Item>> {
  const found = db.all(
    `SELECT rowid AS seq FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    Number(page.after ?? BEFORE_ALL),
    page.limit + 1,
  )
  return readPage(found, page, { ...reader, nameOf: ({ seq }) => String(seq) })
}

/** The index of the first checkpoint, which is its rowid, is 0. */
const BEFORE_ALL = -1
