import type { OnDamaged } from './errors.js'

/**
 * Newest first: by time and then by id, policies by id, revisions by number. `after` is the `next` of the previous
 * page, null for the first page. Writes between two pages move nothing: no item appears twice, and none that existed at
 * the first page is left out. A page with a next one is full, unless the store had to search for long. The store holds
 * no more rows at a time than the page takes, plus a bounded number.
 */
export interface PageRequest {
  readonly limit: number
  /**
   * The page also ends before a row that would make it larger than this many bytes, as the store keeps them; absent for
   * no such limit. A larger row gets its own page.
   */
  readonly maxBytes?: number
  readonly after: string | null
  /** The store awaits it before it converts a row: a page is long work, and other work must get its turn. */
  readonly pause?: () => Promise<void>
  /** False once the caller no longer waits for the page: then it need not be full. */
  readonly isWanted?: () => boolean
  /**
   * Called with the error of each damaged row, which the page then leaves out; absent: the first one rejects the read.
   */
  readonly onDamaged?: OnDamaged
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | null
}
