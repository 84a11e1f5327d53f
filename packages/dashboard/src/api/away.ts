/** Tracks whether the server is away: stopped, starting or unreachable. The page probes an absent server, then repeats failed reads. */
import { useSyncExternalStore } from 'react'
import { listenForAnswers, probe } from './client'
import { queryClient } from './query-client'

/** The time between two probes. It doubles each time. */
const ASK_MS = { first: 1_000, most: 10_000 }

let unserved = 0
/** Settles when the server is back; null while the server responds. */
let absence: Promise<void> | null = null
const watchers = new Set<() => void>()

listenForAnswers((isServed) => {
  if (isServed) return
  unserved += 1
  if (absence === null) setAbsence(untilBack().finally(() => setAbsence(null)))
})

/** Whether the server is away, as of the latest call. */
export function useAway(): boolean {
  return useSyncExternalStore(watch, () => absence !== null)
}

/** Waits until the server responds. */
export async function untilServed(): Promise<void> {
  if (absence === null) await probe()
  await absence
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

function setAbsence(next: Promise<void> | null): void {
  absence = next
  for (const watcher of watchers) watcher()
}

/** The server is back once it serves everything that the page failed to read. */
async function untilBack(): Promise<void> {
  for (let waitMs = ASK_MS.first; ; waitMs = Math.min(2 * waitMs, ASK_MS.most)) {
    await pause(waitMs)
    const before = unserved
    await probe()
    if (unserved === before) await queryClient.refetchQueries({ predicate: ({ state }) => state.status === 'error' })
    if (unserved === before) return
  }
}

/** Ends early when the browser is online again. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer)
      window.removeEventListener('online', go)
      resolve()
    }
    const timer = setTimeout(go, ms)
    window.addEventListener('online', go)
  })
}
