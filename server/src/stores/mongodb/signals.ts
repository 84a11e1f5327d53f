/**
 * Tells other processes at once that something changed, where the server has change streams. Without them, or when a
 * signal is missed, they notice at their next poll.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from './connection/database.js'

const CHANGED = 'changed'
/** How long the server holds a request for more events when there are none. */
const HELD_MS = 1000
const TRY_AGAIN_MS = 10_000

/** Not awaited: its outcome changes nothing. */
export function sendSignal(database: Database): void {
  database
    .call(() => database.signals.updateOne({ _id: CHANGED }, { $inc: { count: 1 } }, { upsert: true }))
    .catch(() => {})
}

/** Calls back for each signal, including those of this process, until it is stopped. */
export function listenForSignals(database: Database, onSignal: () => void): () => Promise<void> {
  const stopping = new AbortController()
  const listening = listen(database, onSignal, stopping.signal)
  return () => {
    stopping.abort()
    return listening
  }
}

async function listen(database: Database, onSignal: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const stream = database.signals.watch([], { maxAwaitTimeMS: HELD_MS })
    const close = () => void stream.close().catch(() => {})
    signal.addEventListener('abort', close)
    try {
      for await (const _ of stream) onSignal()
    } catch {
      // A server without change streams reports that as an error, and so does an unreachable one.
    }
    signal.removeEventListener('abort', close)
    close()
    await pause(TRY_AGAIN_MS, undefined, { ref: false, signal }).catch(() => {})
  }
}
