import type { Decision } from '../wire.js'

/** A review that a call without an idempotency key has left behind, for a repeat of the call to take up. */
export interface PendingReview {
  readonly id: string
  /** The name that claims it. */
  readonly holder: string
  /** In milliseconds since 1970. */
  readonly endsAtMs: number
}

export function pendingReview({ id, expires_at }: Decision, holder: string): PendingReview {
  return { id, holder, endsAtMs: Date.parse(expires_at) }
}

/** As many as may be open at a decision point for one API key. */
const MOST = 1_000

/**
 * What the calls of one client have left behind, by question. Calls that wait have nobody take up their reviews: two equal calls
 * that wait are two reviews.
 */
export class PendingReviews {
  readonly #left = new Map<string, PendingReview>()
  readonly #waitedFor = new Set<string>()

  /** For most calls there is nothing to look for. */
  get isEmpty(): boolean {
    return this.#left.size === 0
  }

  of(question: string, nowMs: number): PendingReview | undefined {
    const review = this.#left.get(question)
    if (review === undefined || review.endsAtMs > nowMs) return review
    this.#left.delete(question)
    return undefined
  }

  /** The first one of a question stays until it ends; of all questions the oldest is forgotten. */
  leave(question: string, review: PendingReview): void {
    if (this.#left.has(question)) return
    const [oldest] = this.#left.keys()
    if (this.#left.size >= MOST && oldest !== undefined) this.#left.delete(oldest)
    this.#left.set(question, review)
  }

  forget(question: string, id: string): void {
    if (this.#left.get(question)?.id === id) this.#left.delete(question)
  }

  isWaitedFor(id: string): boolean {
    return this.#waitedFor.has(id)
  }

  /** While the work goes on, nobody else takes the review up. */
  async whileWaitingFor<Result>(question: string, id: string, work: () => Promise<Result>): Promise<Result> {
    this.forget(question, id)
    this.#waitedFor.add(id)
    try {
      return await work()
    } finally {
      this.#waitedFor.delete(id)
    }
  }
}
