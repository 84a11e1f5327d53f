import type { OpenReview } from '../ports/store/decisions.js'

export interface OpenReviewLimits {
  readonly perAgent: number
  readonly perKey: number
}

/**
 * Counts the decisions that await a review, for each agent and each API key. A review takes its slots before it is
 * written, so that simultaneous requests cannot exceed the limit together.
 */
export interface OpenReviews {
  /** Takes the review's slots. False when none is free. @throws StoreUnavailableError */
  take(review: OpenReview, now: string): boolean | Promise<boolean>
  release(review: OpenReview): void
  /** Forgets reviews that have ended, including those of owners that never ask again. @throws StoreUnavailableError */
  forgetExpired(now: string): void | Promise<void>
}

/** For a process that is the only one to change its store. */
export class OwnOpenReviews implements OpenReviews {
  /** For each agent and each key: when each of its reviews ends. */
  private readonly byOwner = new Map<string, Map<string, string>>()

  constructor(
    loaded: readonly OpenReview[],
    private readonly limits: OpenReviewLimits,
  ) {
    for (const review of loaded) this.add(review)
  }

  take(review: OpenReview, now: string): boolean {
    const [agent, key] = ownersOf(review)
    if (this.count(agent, now) >= this.limits.perAgent || this.count(key, now) >= this.limits.perKey) return false
    this.add(review)
    return true
  }

  release(review: OpenReview): void {
    for (const owner of ownersOf(review)) {
      const open = this.byOwner.get(owner)
      open?.delete(review.id)
      if (open?.size === 0) this.byOwner.delete(owner)
    }
  }

  forgetExpired(now: string): void {
    for (const owner of [...this.byOwner.keys()]) this.count(owner, now)
  }

  private add(review: OpenReview): void {
    for (const owner of ownersOf(review)) {
      const open = this.byOwner.get(owner) ?? new Map<string, string>()
      this.byOwner.set(owner, open.set(review.id, review.expires_at))
    }
  }

  private count(owner: string, now: string): number {
    const open = this.byOwner.get(owner)
    if (open === undefined) return 0
    // The map holds at most a limit's worth of entries, because ended reviews are removed here.
    for (const [id, expiresAt] of open) if (expiresAt <= now) open.delete(id)
    if (open.size === 0) this.byOwner.delete(owner)
    return open.size
  }
}

/** Copies the ids: a substring of a request's body would keep the whole body in memory. */
function ownersOf({ agent_id, key_id }: OpenReview): readonly [agent: string, key: string] {
  return [Buffer.from(`agent ${agent_id}`).toString(), `key ${key_id}`]
}
