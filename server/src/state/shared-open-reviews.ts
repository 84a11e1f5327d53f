import type { ReviewPlace, ReviewPlaces, WantedPlace } from '@countersign/store-port/replicas'
import type { OpenReview } from '@countersign/store-port/store'
import type { OpenReviewLimits, OpenReviews } from './open-reviews.js'
import { Turns } from './turns.js'

/** As many as one write takes. */
const MOST_AT_ONCE = 256

interface Wanting {
  readonly place: WantedPlace
  readonly resolve: (isTaken: boolean) => void
  readonly reject: (error: unknown) => void
}

/**
 * Counts the decisions that await a review over all processes that share a store. Reviews that want places at once ask for
 * them together: while one write is on its way, the next one gathers.
 */
export class SharedOpenReviews implements OpenReviews {
  private readonly turns = new Turns()
  private readonly wanting: Wanting[] = []
  private readonly released: ReviewPlace[] = []
  private isTaking = false
  private isReleasing = false

  /** @param onError gets why places could not be released; they are found out when somebody needs them */
  constructor(
    private readonly places: ReviewPlaces,
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
    return this.places.forgetOver(now)
  }

  /** What the places are taken by is looked at when there is none: once for all who find none before that look begins. */
  private async takeOne(place: WantedPlace): Promise<boolean> {
    if (await this.ask(place)) return true
    await this.turns.join(place.owner, () => this.places.clear(place.owner, place.at))
    return this.ask(place)
  }

  private ask(place: WantedPlace): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.wanting.push({ place, resolve, reject })
      if (!this.isTaking) void this.takeAll()
    })
  }

  private async takeAll(): Promise<void> {
    this.isTaking = true
    while (this.wanting.length > 0) {
      const group = this.wanting.splice(0, MOST_AT_ONCE)
      try {
        const isTaken = await this.places.take(group.map(({ place }) => place))
        for (const [i, { resolve }] of group.entries()) resolve(isTaken[i] === true)
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.isTaking = false
  }

  private releaseSoon(...places: readonly ReviewPlace[]): void {
    this.released.push(...places)
    if (!this.isReleasing) void this.releaseAll()
  }

  private async releaseAll(): Promise<void> {
    this.isReleasing = true
    while (this.released.length > 0)
      await this.places.release(this.released.splice(0, MOST_AT_ONCE)).catch(this.onError)
    this.isReleasing = false
  }
}

function agentName(id: string): string {
  return `agent ${id}`
}

function keyName(id: string): string {
  return `key ${id}`
}
