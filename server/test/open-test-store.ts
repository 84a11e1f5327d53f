import { basename } from 'node:path'
import type { Store } from '#server/ports/store/store'
import { openMongoStore } from '#server/stores/mongodb/open'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { mongoUrl } from './stores/mongodb/open-mongo-store.js'

/** `npm run test:mongodb` runs the suites of the API on MongoDB, too. */
export const ON_MONGODB = process.env.STORE === 'mongodb'

/** Where the data of a server with that data directory are on MongoDB. */
export function databaseOf(dataDir: string): string {
  return basename(dataDir)
}

/** The store that the suites run on. */
export function openTestStore(dataDir: string): Promise<Store> {
  return ON_MONGODB ? openMongoStore({ url: mongoUrl(databaseOf(dataDir)) }) : openSqliteStore({ dataDir })
}
