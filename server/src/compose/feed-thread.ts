/** The thread of the feed: it opens the feed's part of the store for itself, so that the main thread pays nothing for its reads. */
import { parentPort, workerData } from 'node:worker_threads'
import type { FeedReads, FeedWrites } from '@countersign/store-port/feed'
import { systemClock } from '../adapters/system-clock.js'
import type { Log } from '../ports/log.js'
import { type FeedHost, RunningFeed } from '../feed/feed.js'
import { ThreadCalls } from '../feed/thread-calls.js'

/** What the thread starts with. */
export interface FeedThreadData {
  readonly store: FeedStoreAddress
  readonly allowsPrivate: boolean
  /** One number: 1 from a wake of the main thread until the feed looks. */
  readonly wanted: SharedArrayBuffer
}

export type FeedStoreAddress =
  | { readonly kind: 'sqlite'; readonly dataDir: string }
  | { readonly kind: 'mongodb'; readonly url: string }

const port = parentPort
if (port === null) throw new Error('This module runs as a worker thread.')

const { store: address, allowsPrivate, wanted } = workerData as FeedThreadData
const flag = new Int32Array(wanted)

let closeStore = async (): Promise<void> => {}

const calls = new ThreadCalls(port, {
  async wake() {
    Atomics.store(flag, 0, 0)
    ;(await feed).wake()
  },
  readEvents: async (...parameters: Parameters<RunningFeed['readEvents']>) => (await feed).readEvents(...parameters),
  catchUpStatistics: async () => (await feed).catchUpStatistics(),
  async close() {
    await (await feed).close()
    await closeStore()
    setImmediate(() => port.close())
  },
})
const host = calls.remote<FeedHost & FeedWrites>()

const log: Log = {
  info: (fields, message) => calls.tell('log', 'info', fields, message),
  warn: (fields, message) => calls.tell('log', 'warn', fields, message),
  error: (fields, message) => calls.tell('log', 'error', fields, message),
}

const feed = openStore().then(
  (store) => new RunningFeed({ store, clock: systemClock(), log, host, allowsPrivate }),
)

async function openStore(): Promise<FeedReads & FeedWrites> {
  if (address.kind === 'mongodb') {
    const { openMongoFeedStore } = await import('@countersign/store-mongodb/open-feed')
    const store = await openMongoFeedStore({ url: address.url })
    closeStore = () => store.close()
    return store
  }
  const { openSqliteFeedReads } = await import('@countersign/store-sqlite/open-feed')
  const reads = await openSqliteFeedReads(address.dataDir)
  closeStore = () => reads.close()
  return { ...reads, ...writesOf(host) }
}

/** The main thread writes: its writer is the only one. A proxy has no members that could be spread. */
function writesOf(writes: FeedWrites): FeedWrites {
  const { holdReader, releaseReaders, save, removeReader } = writes
  const { addDelivery, updateDeliveries, removeDeliveries, removeCounts } = writes
  return {
    holdReader,
    releaseReaders,
    save,
    removeReader,
    addDelivery,
    updateDeliveries,
    removeDeliveries,
    removeCounts,
  }
}
