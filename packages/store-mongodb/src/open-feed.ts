import type { FeedStore } from '@countersign/store-port/feed'
import { Database } from './connection/database.js'
import { MongoFeed } from './feed/feed.js'
import type { MongoStoreOptions } from './open.js'

/**
 * Opens what the feed keeps, with connections of its own and nothing that runs by itself: for another thread of a process that
 * has the store open, which has made the collections and indexes.
 *
 * @throws StoreUnavailableError
 */
export async function openMongoFeedStore({
  url,
  nowMs,
}: Required<Pick<MongoStoreOptions, 'url' | 'nowMs'>>): Promise<FeedStore> {
  return new OpenedFeed(await Database.open(url), nowMs)
}

class OpenedFeed extends MongoFeed implements FeedStore {
  close(): Promise<void> {
    return this.database.close()
  }
}
