import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import type { FeedStore } from '../../ports/store/feed.js'
import { Connection } from './driver.js'
import { couldNotRead, SqliteFeedStore } from './feed-store.js'
import { openUntouched } from './open-untouched.js'
import { configureReader } from './schema.js'
import { WriterCalls } from './writer-calls.js'
import type { FeedTask, WriterAnswer, WriterTasks } from './writer-tasks.js'

/**
 * Opens the feed's part of the store a second time: for another thread of the process that has the store open. It reads
 * on its own connection. SQLite shares its locks between all connections of a process, so this one may be opened and
 * closed at any time, as long as only SQLite opens and closes the files. It writes through the store's only writer.
 *
 * @param connectWriter returns a port to the writer's thread: `SqliteStore.connectWriter` of the thread that has the
 *   store
 * @throws StoreUnavailableError
 */
export function openSqliteFeed(dataDir: string, connectWriter: () => Promise<MessagePort>): FeedStore {
  return openFeed(dataDir, connectWriter, Connection.openReadOnly)
}

/**
 * Opens the feed's data for a process that does not have the store open. Changes no file.
 *
 * @throws StoreUnavailableError
 */
export function openSqliteFeedToRead(dataDir: string): FeedStore {
  return openFeed(dataDir, () => Promise.reject(new Error('It was opened to read.')), openUntouched)
}

function openFeed(
  dataDir: string,
  connectWriter: () => Promise<MessagePort>,
  open: (path: string) => Connection,
): FeedStore {
  let db: Connection | null = null
  try {
    db = open(join(dataDir, 'countersign.db'))
    configureReader(db)
    return new FeedOfThread(db, new ConnectedWriter(connectWriter))
  } catch (cause) {
    db?.close()
    throw couldNotRead(cause)
  }
}

class FeedOfThread extends SqliteFeedStore {
  constructor(
    private readonly db: Connection,
    private readonly writer: ConnectedWriter,
  ) {
    super(
      async (work, parameters) => {
        try {
          return await work(db, ...parameters)
        } catch (cause) {
          throw couldNotRead(cause)
        }
      },
      (task, ...parameters) => writer.ask(task, parameters) as Promise<ReturnType<WriterTasks[typeof task]>>,
      () => performance.now(),
    )
  }

  async close(): Promise<void> {
    await this.writer.close()
    this.db.close()
  }
}

interface Waiting {
  readonly task: FeedTask
  readonly parameters: readonly unknown[]
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

interface Connected {
  readonly port: MessagePort
  readonly calls: WriterCalls
}

/**
 * The writer as seen from another thread: requests that arrive during a write are written together, so that they wait
 * for the disk once.
 */
class ConnectedWriter {
  #connected: Connected | null = null
  #waiting: Waiting[] = []
  #writing: Promise<void> | null = null

  constructor(private readonly connect: () => Promise<MessagePort>) {}

  ask(task: FeedTask, parameters: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, parameters, resolve, reject })
      this.#writing ??= this.#write()
    })
  }

  async close(): Promise<void> {
    await this.#writing
    this.#connected?.port.close()
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      try {
        const { calls } = await this.#connection()
        const results = await calls.ask(
          'together',
          group.map(({ task, parameters }) => [task, ...parameters]),
        )
        for (const [i, { resolve }] of group.entries()) resolve(results[i])
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#writing = null
  }

  async #connection(): Promise<Connected> {
    if (this.#connected === null || this.#connected.calls.failure !== null) this.#connected = await this.#open()
    return this.#connected
  }

  async #open(): Promise<Connected> {
    const port = await this.connect()
    const calls = new WriterCalls((request) => port.postMessage(request))
    port.on('message', (answer: WriterAnswer) => {
      if ('failure' in answer)
        calls.fail(new StoreUnavailableError(`The store could not write: ${answer.failure.message}`))
      else if (!('trouble' in answer)) calls.settle(answer)
    })
    port.once('close', () => calls.fail(new StoreUnavailableError('The writing thread has ended.')))
    return { port, calls }
  }
}
