import { join } from 'node:path'
import type { FeedReads } from '@countersign/store-port/feed'
import { Connection } from './driver.js'
import { couldNotRead, SqliteFeedReads } from './feed.js'
import { configureReader } from './schema.js'

/**
 * Opens what the feed reads a second time, on a connection of its own: for another thread of the process that has the store
 * open. SQLite shares its locks between all connections of a process, so this one may come and go as it likes, as long as
 * nothing but SQLite opens and closes the files.
 *
 * @throws StoreUnavailableError
 */
export function openSqliteFeedReads(dataDir: string): FeedReads & { close(): Promise<void> } {
  let db: Connection | null = null
  try {
    db = Connection.openReadOnly(join(dataDir, 'countersign.db'))
    configureReader(db)
    return new FeedReadsOfThread(db)
  } catch (cause) {
    db?.close()
    throw couldNotRead(cause)
  }
}

class FeedReadsOfThread extends SqliteFeedReads {
  readonly #db: Connection

  constructor(db: Connection) {
    super(async (read) => {
      try {
        return await read(db)
      } catch (cause) {
        throw couldNotRead(cause)
      }
    })
    this.#db = db
  }

  async close(): Promise<void> {
    this.#db.close()
  }
}
