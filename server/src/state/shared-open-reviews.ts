import type { ReviewSlot, ReviewSlots, WantedSlot } from '@countersign/store-port/replicas'
import type { OpenReview } from '@countersign/store-port/store'
import type { OpenReviewLimits, OpenReviews } from './open-reviews.js'
import { StoreMutex } from './store-mutex.js'

/** As many as one write takes. */
const MOST_AT_ONCE = 256

interface Wanting {
  readonly slot: WantedSlot
  readonly resolve: (isTaken: boolean) => void
  readonly reject: (error: unknown) => void
}

/**
 * Counts the decisions that await a review over all processes that share a store. Slots that are wanted at the same time
 * are taken in one write: while one write is in progress, the next one gathers.
 */
export class SharedOpenReviews implements OpenReviews {
  private readonly mutex = new StoreMutex()
  private readonly wanting: Wanting[] = []
  private readonly released: ReviewSlot[] = []
  private isTaking = false
  private isReleasing = false

  /** @param onError gets why slots could not be released; `clear` releases them when somebody needs one */
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

  /** When no slot is free, the store looks which slots can be released: once for all that find none before that look begins. */
  private async takeOne(slot: WantedSlot): Promise<boolean> {
    if (await this.ask(slot)) return true
    await this.mutex.join(slot.owner, () => this.slots.clear(slot.owner, slot.at))
    return this.ask(slot)
  }

  private ask(slot: WantedSlot): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.wanting.push({ slot, resolve, reject })
      if (!this.isTaking) void this.takeAll()
    })
  }

  private async takeAll(): Promise<void> {
    this.isTaking = true
    while (this.wanting.length > 0) {
      const group = this.wanting.splice(0, MOST_AT_ONCE)
      try {
        const isTaken = await this.slots.take(group.map(({ slot }) => slot))
        for (const [i, { resolve }] of group.entries()) resolve(isTaken[i] === true)
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.isTaking = false
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

function agentName(id: string): string {
  return `agent ${id}`
}

function keyName(id: string): string {
  return `key ${id}`
}
