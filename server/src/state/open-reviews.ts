import type { OpenReview } from '@countersign/store-port/store'

export interface OpenReviewLimits {
  readonly perAgent: number
  readonly perKey: number
}

/**
 * Counts the decisions that await a review, for each agent and each API key. A review takes its slots before it
 * is written, so that simultaneous requests cannot pass the limit together.
 */
export interface OpenReviews {
  /** Takes the review's slots. False when none is free. @throws StoreUnavailableError */
  take(review: OpenReview, now: string): boolean | Promise<boolean>
  release(review: OpenReview): void
  /** Forgets what is over, also of those who never ask again. @throws StoreUnavailableError */
  forgetExpired(now: string): void | Promise<void>
}

/** Of a process that alone changes its store. */
export class OwnOpenReviews implements OpenReviews {
  private readonly byAgent = new Map<string, Map<string, string>>()
  private readonly byKey = new Map<string, Map<string, string>>()

  constructor(
    loaded: readonly OpenReview[],
    private readonly limits: OpenReviewLimits,
  ) {
    for (const review of loaded) this.add(review)
  }

  take(review: OpenReview, now: string): boolean {
    if (this.count(this.byAgent, review.agent_id, now) >= this.limits.perAgent) return false
    if (this.count(this.byKey, review.key_id, now) >= this.limits.perKey) return false
    this.add(review)
    return true
  }

  release(review: OpenReview): void {
    remove(this.byAgent, review.agent_id, review.id)
    remove(this.byKey, review.key_id, review.id)
  }

  forgetExpired(now: string): void {
    for (const index of [this.byAgent, this.byKey]) for (const owner of [...index.keys()]) this.count(index, owner, now)
  }

  private add(review: OpenReview): void {
    // A copy of its own: a text cut from a request's body would keep all of that body in memory.
    const agentId = Buffer.from(review.agent_id).toString()
    reviewsOf(this.byAgent, agentId).set(review.id, review.expires_at)
    reviewsOf(this.byKey, review.key_id).set(review.id, review.expires_at)
  }

  private count(index: Map<string, Map<string, string>>, owner: string, now: string): number {
    const open = index.get(owner)
    if (open === undefined) return 0
    // At most a limit's worth of entries: what is over goes as it is met.
    for (const [id, expiresAt] of open) if (expiresAt <= now) open.delete(id)
    if (open.size === 0) index.delete(owner)
    return open.size
  }
}

function reviewsOf(index: Map<string, Map<string, string>>, owner: string): Map<string, string> {
  const found = index.get(owner)
  if (found !== undefined) return found
  const made = new Map<string, string>()
  index.set(owner, made)
  return made
}

function remove(index: Map<string, Map<string, string>>, owner: string, id: string): void {
  const open = index.get(owner)
  open?.delete(id)
  if (open?.size === 0) index.delete(owner)
}
