import { join } from 'node:path'
import type { FeedStore } from '@countersign/store-port/feed'
import { Connection } from './driver.js'
import { type AskWriter, couldNotRead, SqliteFeed } from './feed.js'
import { configureReader } from './schema.js'

export type { AskWriter } from './feed.js'

/**
 * Opens what the feed keeps a second time: for another thread of the process that has the store open. It reads on a
 * connection of its own. SQLite shares its locks between all connections of a process, so this one may come and go as it
 * likes, as long as nothing but SQLite opens and closes the files.
 *
 * @param ask has the store's one writer do a task: see `SqliteStore.askWriter`
 * @throws StoreUnavailableError
 */
export function openSqliteFeed(dataDir: string, ask: AskWriter): FeedStore {
  let db: Connection | null = null
  try {
    db = Connection.openReadOnly(join(dataDir, 'countersign.db'))
    configureReader(db)
    return new FeedOfThread(db, ask)
  } catch (cause) {
    db?.close()
    throw couldNotRead(cause)
  }
}

class FeedOfThread extends SqliteFeed implements FeedStore {
  readonly #db: Connection

  constructor(db: Connection, ask: AskWriter) {
    super(
      async (read) => {
        try {
          return await read(db)
        } catch (cause) {
          throw couldNotRead(cause)
        }
      },
      ask,
      Date.now,
    )
    this.#db = db
  }

  async close(): Promise<void> {
    this.#db.close()
  }
}
