import type { FeedStore } from '#server/ports/store/feed'
import type { Page, PageRequest } from '#server/ports/store/page'
import type { Store } from '#server/ports/store/store'

/** A store that was opened for one case. */
export interface OpenedStore {
  readonly store: Store
  /** Closes the store and opens what it left. */
  reopen(): Promise<Store>
  /** Opens what the feed reads beside the store, as a thread of its own does. The one who opened it closes it. */
  openFeedReads(): Promise<FeedStore>
  /** Closes the store and removes everything. */
  destroy(): Promise<void>
}

export interface StoreCase {
  /** States what is guaranteed. */
  readonly title: string
  run(opened: OpenedStore): Promise<void>
}

/** The methods of an object, and those of its roles, as `role.method`. */
export type CallOf<T> = {
  [Name in keyof T & string]: T[Name] extends ((...parameters: never[]) => unknown) | null
    ? Name
    : `${Name}.${keyof T[Name] & string}`
}[keyof T & string]

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
