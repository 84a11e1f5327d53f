import type { Store } from '#server/ports/store/store'
import { openTestStore } from './open-test-store.js'
import { type Altered, altered } from './store-suite/index.js'

/** The real store with some of its methods in other words. */
export async function openStoreWith(dataDir: string, change: (store: Store) => Altered<Store>): Promise<Store> {
  const store = await openTestStore(dataDir)
  return altered(store, change(store))
}
