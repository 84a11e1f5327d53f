import { setTimeout as pause } from 'node:timers/promises'
import { addTo } from './shares.js'

/** The interval between reads of the store, which show the changes of all processes. */
const READ_EVERY_MS = 250
/** How many calls of one API key may wait at a time. A further call returns without waiting. */
const MAX_WAITING_PER_KEY = 1000

export interface Poll {
  /** The API key that waits. */
  readonly keyId: string
  readonly decisionId: string
  readonly waitMs: number
  /** False once the caller has disconnected. */
  readonly isWanted: () => boolean
}

/** Lets calls wait until a decision leaves its review. All calls that wait for one decision share its reads. */
export class LongPolls {
  private readonly reads = new Map<string, Promise<boolean>>()
  private readonly waiting = new Map<string, number>()

  /** @param isAwaiting reads whether the decision still awaits its review */
  constructor(private readonly isAwaiting: (decisionId: string) => Promise<boolean>) {}

  /** Resolves when the review has ended, after `waitMs`, or when the caller has disconnected. */
  async wait({ keyId, decisionId, waitMs, isWanted }: Poll): Promise<void> {
    if ((this.waiting.get(keyId) ?? 0) >= MAX_WAITING_PER_KEY) return
    addTo(this.waiting, keyId, 1)
    const until = performance.now() + waitMs
    try {
      for (let leftMs = waitMs; leftMs > 0 && isWanted(); leftMs = until - performance.now()) {
        const read = this.read(decisionId)
        const isAwaiting = leftMs < READ_EVERY_MS ? await Promise.race([read, pause(leftMs, true)]) : await read
        if (!isAwaiting) return
      }
    } finally {
      addTo(this.waiting, keyId, -1)
    }
  }

  private read(decisionId: string): Promise<boolean> {
    const next = this.reads.get(decisionId)
    if (next !== undefined) return next
    const read = pause(READ_EVERY_MS)
      .then(() => this.isAwaiting(decisionId))
      .finally(() => this.reads.delete(decisionId))
    // A call that stopped waiting does not handle this failure.
    read.catch(() => {})
    this.reads.set(decisionId, read)
    return read
  }
}
