/**
 * The thread of the feed. It opens the feed's part of the store itself, so that its reads do not cost the main thread
 * anything.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { CheckpointFile } from '../adapters/checkpoint-memory/checkpoint-file.js'
import { systemClock } from '../adapters/system-clock.js'
import { type FeedHost, RunningFeed } from '../feed/feed.js'
import type { News } from '../feed/news.js'
import { remote, ThreadCalls } from '../feed/thread-calls.js'
import type { Log } from '../ports/log.js'
import type { FeedStore } from '../ports/store/feed.js'

/** The data that the thread starts with. */
export interface FeedThreadData {
  readonly store: FeedStoreAddress
  readonly dataDir: string
  readonly allowsPrivate: boolean
  readonly issuer: string
  readonly isShared: boolean
  /** One number: how many messages with news this thread has not received yet. */
  readonly unread: SharedArrayBuffer
  /** The server's time, in milliseconds since 1970. */
  readonly nowMs: number
}

export type FeedStoreAddress =
  | { readonly kind: 'sqlite'; readonly dataDir: string }
  | { readonly kind: 'mongodb'; readonly url: string }

/** The calls that the thread may make to the main thread. */
export interface FeedThreadHost extends FeedHost {
  log(level: keyof Log, fields: object, message: string): void
  /** The embedded store has one writer for all threads. */
  connectWriter: () => Promise<MessagePort>
}

const port = parentPort
if (port === null) throw new Error('This module runs as a worker thread.')

const { store: address, dataDir, unread, nowMs: startMs, ...data } = workerData as FeedThreadData
const unreadNews = new Int32Array(unread)

const calls = new ThreadCalls(port, {
  async wake(nowMs: number, news: News) {
    clock.startFrom(new Date(nowMs))
    const running = await feed
    Atomics.sub(unreadNews, 0, 1)
    running.wake(news)
  },
  readEvents: async (...parameters: Parameters<RunningFeed['readEvents']>) => (await feed).readEvents(...parameters),
  webhooksChanged: async () => (await feed).webhooksChanged(),
  catchUpStatistics: async () => (await feed).catchUpStatistics(),
  catchUpTrees: async () => (await feed).catchUpTrees(),
  checkTrees: async () => (await feed).checkTrees(),
  toAccept: async () => (await feed).toAccept(),
  acceptRewrite: async () => (await feed).acceptRewrite(),
  async close() {
    await (await feed).close()
    await (await store).close()
    setImmediate(() => port.close())
  },
})
const host = remote<FeedThreadHost>(() => calls)

const log: Log = {
  info: (fields, message) => calls.tell('log', 'info', fields, message),
  warn: (fields, message) => calls.tell('log', 'warn', fields, message),
  error: (fields, message) => calls.tell('log', 'error', fields, message),
}

const clock = systemClock()
clock.startFrom(new Date(startMs))
const store = openStore()
const memory = new CheckpointFile(dataDir)
const feed = store.then((opened) => new RunningFeed({ ...data, store: opened, clock, log, host, memory }))

/** Loaded only when used: the MongoDB driver takes long to load. */
async function openStore(): Promise<FeedStore> {
  if (address.kind === 'mongodb') {
    const { openMongoFeedStore } = await import('../stores/mongodb/open-feed.js')
    return openMongoFeedStore({ url: address.url, nowMs: () => clock.now().getTime() })
  }
  const { openSqliteFeed } = await import('../stores/sqlite/open-feed.js')
  return openSqliteFeed(address.dataDir, () => host.connectWriter())
}
