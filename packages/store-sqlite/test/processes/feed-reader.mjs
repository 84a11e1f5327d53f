/** Reads what the feed reads, in a thread of its own: a message names the read and its parameters, and the answer is sent back. */
import { parentPort, workerData } from 'node:worker_threads'
import { openSqliteFeedReads } from '#store-sqlite/open-feed'

const reads = openSqliteFeedReads(workerData)
parentPort.on('message', async ([name, ...parameters]) => {
  parentPort.postMessage((await reads[name](...parameters)) ?? null)
  if (name === 'close') parentPort.close()
})
