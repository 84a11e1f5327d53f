/** Reads what the feed reads, in a thread of its own: a message names the role, the read and its parameters, and the answer is sent back. */
import { parentPort, workerData } from 'node:worker_threads'
import { openSqliteFeed } from '#server/stores/sqlite/open-feed'

const reads = openSqliteFeed(workerData, () => Promise.reject(new Error('It only reads.')))
parentPort.on('message', async ([role, method, ...parameters]) => {
  if (role === 'close') await reads.close()
  parentPort.postMessage(role === 'close' ? null : await reads[role][method](...parameters))
  if (role === 'close') parentPort.close()
})
