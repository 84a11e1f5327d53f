/**
 * Loaded into a server with `--import`: each SIGUSR2 collects the garbage of the main thread, and writes the bytes that its heap
 * and its buffers then hold into the file HEAP.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  process.on('SIGUSR2', () => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    writeFileSync(`${process.env.HEAP}.part`, String(heapUsed + external))
    renameSync(`${process.env.HEAP}.part`, process.env.HEAP)
  })
}
