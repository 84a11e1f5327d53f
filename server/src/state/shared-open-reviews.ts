import { Batches } from '../concurrency/batches.js'
import type { OpenReview } from '../ports/store/decisions.js'
import type { ReviewSlot, ReviewSlots, WantedSlot } from '../ports/store/replicas.js'
import type { OpenReviewLimits, OpenReviews } from './open-reviews.js'
import { StoreMutex } from './store-mutex.js'

/** The most slots that one write releases. */
const MOST_AT_ONCE = 256

/**
 * Counts the decisions that await a review over all processes that share a store. Slots that are requested at the same
 * time are taken in one write: while one write is in progress, the next one collects requests.
 */
export class SharedOpenReviews implements OpenReviews {
  private readonly mutex = new StoreMutex()
  private readonly taking = new Batches<WantedSlot, boolean>((wanted) => this.slots.take(wanted))
  private readonly released: ReviewSlot[] = []
  private isReleasing = false

  /** @param onError gets the reason why slots could not be released; `clear` releases them when they are needed */
  constructor(
    private readonly slots: ReviewSlots,
    private readonly limits: OpenReviewLimits,
    private readonly onError: (error: unknown) => void,
  ) {}

  async take({ id, agent_id, key_id, expires_at }: OpenReview, at: string): Promise<boolean> {
    const { perAgent, perKey } = this.limits
    const ofAgent = { owner: agentName(agent_id), id, limit: perAgent, at, expires_at }
    if (!(await this.takeOne(ofAgent))) return false
    if (await this.takeOne({ owner: keyName(key_id), id, limit: perKey, at, expires_at })) return true
    this.releaseSoon(ofAgent)
    return false
  }

  release({ id, agent_id, key_id }: OpenReview): void {
    this.releaseSoon({ owner: agentName(agent_id), id }, { owner: keyName(key_id), id })
  }

  forgetExpired(now: string): Promise<void> {
    return this.slots.forgetOver(now)
  }

  /**
   * When no slot is free, the store checks which slots can be released: once for all requests that fail before that
   * check begins.
   */
  private async takeOne(slot: WantedSlot): Promise<boolean> {
    if (await this.taking.ask(slot)) return true
    await this.mutex.join(slot.owner, () => this.slots.clear(slot.owner, slot.at))
    return this.taking.ask(slot)
  }

  private releaseSoon(...slots: readonly ReviewSlot[]): void {
    this.released.push(...slots)
    if (!this.isReleasing) void this.releaseAll()
  }

  private async releaseAll(): Promise<void> {
    this.isReleasing = true
    while (this.released.length > 0) await this.slots.release(this.released.splice(0, MOST_AT_ONCE)).catch(this.onError)
    this.isReleasing = false
  }
}

/** The owners of the slots of a review. */
export function slotOwners({ agent_id, key_id }: Pick<OpenReview, 'agent_id' | 'key_id'>): readonly [string, string] {
  return [agentName(agent_id), keyName(key_id)]
}

function agentName(id: string): string {
  return `agent ${id}`
}

function keyName(id: string): string {
  return `key ${id}`
}
