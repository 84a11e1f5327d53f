/** Reads what the feed reads, in a thread of its own: a message names the read and its parameters, and the answer is sent back. */
import { parentPort, workerData } from 'node:worker_threads'
import { openSqliteFeed } from '#store-sqlite/open-feed'

const reads = openSqliteFeed(workerData, () => Promise.reject(new Error('It only reads.')))
parentPort.on('message', async ([name, ...parameters]) => {
  parentPort.postMessage((await reads[name](...parameters)) ?? null)
  if (name === 'close') parentPort.close()
})
