import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'
import type { Store } from '#server/ports/store/store'
import { openMongoStore } from '#server/stores/mongodb/open'
import { openMongoFeedStore } from '#server/stores/mongodb/open-feed'
import type { OpenedSharedStore, OpenedStore } from '../../store-suite/index.js'

/** The URL of the server for tests with a database of that name. */
export function mongoUrl(database: string): string {
  const given = process.env.MONGODB_URL
  if (given === undefined || given === '') throw new Error('MONGODB_URL is not set: run `npm run test:mongodb`.')
  const url = new URL(given.replace(/^mongodb/, 'http'))
  url.pathname = `/${database}`
  return url.href.replace(/^http/, 'mongodb')
}

export async function dropDatabase(name: string): Promise<void> {
  const client = new MongoClient(mongoUrl(name))
  await client.db(name).dropDatabase()
  await client.close()
}

/** A store in a database of its own, which is removed in the end. */
export async function openInNewDatabase(
  open: (url: string) => Promise<Store> = (url) => openMongoStore({ url }),
): Promise<OpenedStore> {
  const name = `countersign-test-${randomBytes(6).toString('hex')}`
  const url = mongoUrl(name)
  let store = await open(url)
  return {
    store,
    async reopen() {
      await store.close()
      store = await open(url)
      return store
    },
    openFeedReads: () => openMongoFeedStore({ url, nowMs: Date.now }),
    async destroy() {
      await store.close()
      await dropDatabase(name)
    },
  }
}

/** Two stores on a database of their own, as two processes have them. */
export async function openTwoInNewDatabase(): Promise<OpenedSharedStore> {
  const name = `countersign-test-${randomBytes(6).toString('hex')}`
  const stores = [await openMongoStore({ url: mongoUrl(name) }), await openMongoStore({ url: mongoUrl(name) })] as const
  return {
    stores,
    async destroy() {
      await Promise.all(stores.map((store) => store.close()))
      await dropDatabase(name)
    },
  }
}
