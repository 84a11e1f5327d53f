import type { OpenReview } from '../ports/store.js'

interface Limits {
  readonly perAgent: number
  readonly perKey: number
}

/** Longer than a record may be on its way. */
const LATELY_MS = 30_000

/**
 * Counts the decisions that await a review, for each agent and each API key. A review takes its place before it is
 * written, so that requests side by side cannot pass the limit together. That holds in this process; what other processes
 * open and decide counts from the next `refresh` on.
 */
export class OpenReviews {
  private readonly byAgent = new Map<string, Map<string, string>>()
  private readonly byKey = new Map<string, Map<string, string>>()
  private readonly takenOfLate = new Map<string, { readonly review: OpenReview; readonly at: number }>()
  /** What is released while the store is read; null while it is not. */
  private releasedMeanwhile: Set<string> | null = null

  constructor(
    loaded: readonly OpenReview[],
    private readonly limits: Limits,
  ) {
    for (const review of loaded) this.add(review)
  }

  /**
   * Reads anew which reviews are open, for other processes open and decide some, too. A place taken here lately stays
   * taken: its record may still be on its way.
   */
  async refresh(read: () => Promise<readonly OpenReview[]>): Promise<void> {
    this.forgetTaken()
    const released = new Set<string>()
    this.releasedMeanwhile = released
    const loaded = await read().finally(() => {
      this.releasedMeanwhile = null
    })
    this.byAgent.clear()
    this.byKey.clear()
    for (const review of loaded) if (!released.has(review.id)) this.add(review)
    for (const { review } of this.takenOfLate.values()) this.add(review)
  }

  /** Takes a place, or says that there is none. */
  take(review: OpenReview, now: string): boolean {
    if (this.count(this.byAgent, review.agent_id, now) >= this.limits.perAgent) return false
    if (this.count(this.byKey, review.key_id, now) >= this.limits.perKey) return false
    this.add(review)
    this.takenOfLate.set(review.id, { review, at: performance.now() })
    return true
  }

  release(review: OpenReview): void {
    remove(this.byAgent, review.agent_id, review.id)
    remove(this.byKey, review.key_id, review.id)
    this.takenOfLate.delete(review.id)
    this.releasedMeanwhile?.add(review.id)
  }

  /** Forgets what is over, also of those who never ask again. */
  forgetExpired(now: string): void {
    for (const index of [this.byAgent, this.byKey]) for (const owner of [...index.keys()]) this.count(index, owner, now)
    this.forgetTaken()
  }

  private forgetTaken(): void {
    const before = performance.now() - LATELY_MS
    for (const [id, { at }] of this.takenOfLate) if (at < before) this.takenOfLate.delete(id)
  }

  private add(review: OpenReview): void {
    // A copy of its own: a text cut from a request's body would keep all of that body in memory.
    const agentId = Buffer.from(review.agent_id).toString()
    place(this.byAgent, agentId).set(review.id, review.expires_at)
    place(this.byKey, review.key_id).set(review.id, review.expires_at)
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

function place(index: Map<string, Map<string, string>>, owner: string): Map<string, string> {
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
