/**
 * Loaded before the server (`--import`): notes how long its main thread did not come to its next turn, and why, and leaves that in the
 * file `STALLS` when the server ends. What it ran in that time is its own doing. What it waited for a CPU is that of the other
 * processes of the machine, and so is a collection of garbage in which it hardly ran: V8 waits there for threads that wait for a CPU.
 * Linux.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

const LOOKED_EVERY_MS = 5
const NOTED_FROM_MS = 20

if (isMainThread && process.env.STALLS !== undefined) watch(process.env.STALLS)

function watch(file) {
  const stalls = []
  const collections = []
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) collections.push({ at: startTime, ms: duration })
  }).observe({ entryTypes: ['gc'] })
  let last = now()
  setInterval(() => {
    const next = now()
    const ms = next.at - last.at
    if (ms > NOTED_FROM_MS)
      stalls.push({ at: last.at, ms, ranMs: next.ranMs - last.ranMs, waitedMs: next.waitedMs - last.waitedMs })
    last = next
  }, LOOKED_EVERY_MS).unref()
  process.on('exit', () => {
    const withCollections = stalls.map((stall) => ({ ...stall, collectedMs: within(stall, collections) }))
    writeFileSync(file, JSON.stringify(withCollections.sort((one, other) => other.ms - one.ms)))
  })
}

/** The time, how long the main thread has run so far, and how long it has waited for a CPU. */
function now() {
  const [ran, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')
  return { at: performance.now(), ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 }
}

function within({ at, ms }, collections) {
  const those = collections.filter((one) => one.at >= at && one.at < at + ms)
  return those.reduce((sum, one) => sum + one.ms, 0)
}
