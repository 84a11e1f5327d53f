import { setTimeout as pause } from 'node:timers/promises'

/** It looks into the store again and again, and not only when this process changes a decision, so that it sees what any process wrote. */
const LOOK_EVERY_MS = 250
/** So many calls of one API key may wait at a time; one more is answered at once. */
const MAX_WAITING_PER_KEY = 1000

export interface Poll {
  /** The API key that waits. */
  readonly keyId: string
  readonly decisionId: string
  readonly waitMs: number
  /** False once nobody waits for the answer any more. */
  readonly isWanted: () => boolean
}

/** Keeps calls waiting for a decision to leave its review. However many wait for one decision, it is looked at once. */
export class LongPolls {
  private readonly looks = new Map<string, Promise<boolean>>()
  private readonly waiting = new Map<string, number>()

  /** @param isAwaiting looks whether the decision still awaits its review */
  constructor(private readonly isAwaiting: (decisionId: string) => Promise<boolean>) {}

  /** Resolves when the review is over, the time is, or nobody waits any more. */
  async wait({ keyId, decisionId, waitMs, isWanted }: Poll): Promise<void> {
    const others = this.waiting.get(keyId) ?? 0
    if (others >= MAX_WAITING_PER_KEY) return
    this.waiting.set(keyId, others + 1)
    const until = performance.now() + waitMs
    try {
      for (let leftMs = waitMs; leftMs > 0 && isWanted(); leftMs = until - performance.now()) {
        const look = this.look(decisionId)
        const isAwaiting = leftMs < LOOK_EVERY_MS ? await Promise.race([look, pause(leftMs, true)]) : await look
        if (!isAwaiting) return
      }
    } finally {
      const left = (this.waiting.get(keyId) ?? 1) - 1
      if (left === 0) this.waiting.delete(keyId)
      else this.waiting.set(keyId, left)
    }
  }

  private look(decisionId: string): Promise<boolean> {
    const next = this.looks.get(decisionId)
    if (next !== undefined) return next
    const look = pause(LOOK_EVERY_MS)
      .then(() => this.isAwaiting(decisionId))
      .finally(() => this.looks.delete(decisionId))
    // Whoever has stopped waiting does not handle its failure.
    look.catch(() => {})
    this.looks.set(decisionId, look)
    return look
  }
}
