import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { FeedStore } from '@countersign/store-port/feed'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { Connection } from './driver.js'
import { couldNotRead, SqliteFeed } from './feed.js'
import { configureReader } from './schema.js'
import { WriterCalls } from './writer-calls.js'
import type { FeedTask, WriterAnswer, WriterTasks } from './writer-tasks.js'

/**
 * Opens what the feed keeps a second time: for another thread of the process that has the store open. It reads on a
 * connection of its own. SQLite shares its locks between all connections of a process, so this one may come and go as it
 * likes, as long as nothing but SQLite opens and closes the files. It writes through the store's one writer.
 *
 * @param connectWriter gives a port to the writer's thread: `SqliteStore.connectWriter`, asked of the thread that has the store
 * @throws StoreUnavailableError
 */
export function openSqliteFeed(dataDir: string, connectWriter: () => Promise<MessagePort>): FeedStore {
  let db: Connection | null = null
  try {
    db = Connection.openReadOnly(join(dataDir, 'countersign.db'))
    configureReader(db)
    return new FeedOfThread(db, new ConnectedWriter(connectWriter))
  } catch (cause) {
    db?.close()
    throw couldNotRead(cause)
  }
}

class FeedOfThread extends SqliteFeed implements FeedStore {
  readonly #db: Connection
  readonly #writer: ConnectedWriter

  constructor(db: Connection, writer: ConnectedWriter) {
    super(
      async (read) => {
        try {
          return await read(db)
        } catch (cause) {
          throw couldNotRead(cause)
        }
      },
      (task, ...parameters) => writer.ask(task, parameters) as Promise<ReturnType<WriterTasks[typeof task]>>,
      () => performance.now(),
    )
    this.#db = db
    this.#writer = writer
  }

  async close(): Promise<void> {
    await this.#writer.close()
    this.#db.close()
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

/** The writer, as another thread asks it: what comes while it writes is written together, so that it waits for the disk once. */
class ConnectedWriter {
  readonly #connect: () => Promise<MessagePort>
  #connected: Connected | null = null
  #waiting: Waiting[] = []
  #writing: Promise<void> | null = null

  constructor(connect: () => Promise<MessagePort>) {
    this.#connect = connect
  }

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
    const port = await this.#connect()
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
