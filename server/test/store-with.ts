import { openSqliteStore } from '#server/adapters/store-sqlite/open'
import type { Store } from '#server/ports/store'

/** The real store with some of its methods in other words. */
export async function openStoreWith(dataDir: string, change: (store: Store) => Partial<Store>): Promise<Store> {
  const store = await openSqliteStore({ dataDir })
  const changed = change(store)
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const method = changed[name] ?? target[name]
      return typeof method === 'function' ? method.bind(target) : method
    },
  })
}
