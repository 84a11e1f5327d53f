import type { Store } from '@countersign/store-port/store'
import { openTestStore } from './open-test-store.js'

/** The real store with some of its methods in other words. */
export async function openStoreWith(dataDir: string, change: (store: Store) => Partial<Store>): Promise<Store> {
  const store = await openTestStore(dataDir)
  const changed = change(store)
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const method = changed[name] ?? target[name]
      return typeof method === 'function' ? method.bind(target) : method
    },
  })
}
