/** Loaded into a server with `--import`: SIGUSR2 ends the thread of its feed, and each start of that thread is noted in FEED_STARTS. */
import { appendFileSync } from 'node:fs'
import { isMainThread, workerData } from 'node:worker_threads'

const orders = new BroadcastChannel('ending-feed-thread')
orders.unref()
if (isMainThread) process.on('SIGUSR2', () => orders.postMessage('end'))
// Only the feed counts news.
if (!isMainThread && workerData?.unread !== undefined) {
  appendFileSync(process.env.FEED_STARTS, 'started\n')
  orders.onmessage = () => process.exit(1)
}
