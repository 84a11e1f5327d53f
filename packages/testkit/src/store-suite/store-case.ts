import type { FeedReads } from '@countersign/store-port/feed'
import type { Page, PageRequest, Store } from '@countersign/store-port/store'

/** A store that was opened for one case. */
export interface OpenedStore {
  readonly store: Store
  /** Closes the store and opens what it left. */
  reopen(): Promise<Store>
  /** Opens what the feed reads beside the store, as a thread of its own does. The one who opened it closes it. */
  openFeedReads(): Promise<FeedReads & { close(): Promise<void> }>
  /** Closes the store and removes everything. */
  destroy(): Promise<void>
}

export interface StoreCase {
  /** States what is guaranteed. */
  readonly title: string
  run(opened: OpenedStore): Promise<void>
}

/** A page that everything fits on. */
export const WHOLE: PageRequest = { limit: 200, after: null }

/** All items, page by page. */
export async function walk<T>(limit: number, list: (page: PageRequest) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = []
  for (let after: string | null = null; ; ) {
    const page: Page<T> = await list({ limit, after })
    if (page.items.length > limit) throw new Error(`A page of ${limit} has ${page.items.length} items.`)
    items.push(...page.items)
    if (page.next === null) return items
    if (page.items.length !== limit) throw new Error('A page that is not the last one is not full.')
    after = page.next
  }
}
