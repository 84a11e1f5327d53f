import type { FeedStore } from '../../ports/store/feed.js'
import type { Replicas } from '../../ports/store/replicas.js'
import { Database } from './connection/database.js'
import { MongoFeedStore } from './feed-store.js'
import type { MongoStoreOptions } from './open.js'
import { loadSigningKeys } from './replicas.js'

/**
 * Opens the feed's part of the store with separate connections and no background tasks: for another thread of a process
 * that has the store open and has created the collections and indexes.
 *
 * @throws StoreUnavailableError
 */
export async function openMongoFeedStore({
  url,
  nowMs,
}: Required<Pick<MongoStoreOptions, 'url' | 'nowMs'>>): Promise<FeedStore & Pick<Replicas, 'loadSigningKeys'>> {
  return new OpenedFeed(await Database.open(url), nowMs)
}

class OpenedFeed extends MongoFeedStore {
  loadSigningKeys(now: string) {
    return loadSigningKeys(this.database, now)
  }
}
