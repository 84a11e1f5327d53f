/**
 * The places for long calls, and which calls hold them. A call in a place keeps its data in memory. `state/shares.ts`
 * defines how many places a key may hold.
 */
import { withDeadline } from '../concurrency/with-deadline.js'
import { DomainError } from '../domain-error.js'
import { addTo, type LineOf, ownGroup, Shares } from '../state/shares.js'
import { FairQueue } from './fair-queue.js'

/** How many calls may be in a place at a time. */
export const PLACES = 16
/** How many calls of one API key may wait for a place or another event. */
export const MAX_WAITING_PER_KEY = 100

export interface Patience {
  /** How long a call may wait for a place, in milliseconds; null for no limit. */
  readonly waitMs: number | null
  /** Whether the call has had a place before: then it may wait regardless of how many calls of its key wait. */
  readonly isUnderWay?: boolean
  /** Whether the call continues after its caller disconnects. */
  readonly isBoundToEnd?: boolean
}

/** The call that wants a place. */
export interface PlaceSeeker extends Patience {
  readonly keyId: string
  /** False once the caller no longer wants the answer: then the call gets no place. */
  readonly isWanted: () => boolean
}

interface WaitingCall {
  readonly groups: readonly string[]
  readonly seeker: PlaceSeeker
  readonly enter: () => void
  readonly refuse: (error: Error) => void
}

export class Places {
  private readonly shares: Shares
  private readonly queue = new FairQueue<WaitingCall>()
  /** How many calls wait, by API key. */
  private readonly waiting = new Map<string, number>()

  /** @param lineOf returns the keys that a key descends from, first ancestor first, and the key itself */
  constructor(lineOf: LineOf) {
    this.shares = new Shares(PLACES, lineOf)
  }

  /** How many places each API key holds. */
  get holders(): ReadonlyMap<string, number> {
    return this.shares.holders
  }

  /** How many calls wait, by API key. */
  get waiters(): ReadonlyMap<string, number> {
    return this.waiting
  }

  /** Returns the groups from all calls down to those of the key itself. */
  groupsOf(keyId: string): readonly string[] {
    return this.shares.groupsOf(keyId)
  }

  /**
   * Takes a place.
   *
   * @throws DomainError rate_limited when too many calls of the key wait, or no place becomes free for it in time
   */
  async take(seeker: PlaceSeeker): Promise<HeldPlace> {
    return new HeldPlace(this, seeker, await this.enter(seeker))
  }

  /**
   * Takes a place like {@link take}.
   *
   * @returns a function that gives the place up; call it once
   */
  async enter(seeker: PlaceSeeker): Promise<() => void> {
    if (seeker.isUnderWay !== true) this.assertFewWait(seeker.keyId)
    const groups = this.groupsOf(seeker.keyId)
    if (this.shares.fullGroup(groups) === undefined) {
      this.queue.hadTurn(groups)
      this.shares.count(groups, 1)
    } else await this.queued(seeker, groups)
    return () => this.leave(groups)
  }

  /** Counts the key's call as waiting while `wait` runs. */
  async whileWaiting<T>(keyId: string, wait: () => Promise<T>): Promise<T> {
    addTo(this.waiting, keyId, 1)
    try {
      return await wait()
    } finally {
      addTo(this.waiting, keyId, -1)
    }
  }

  private async queued(seeker: PlaceSeeker, groups: readonly string[]): Promise<void> {
    let leave = (): void => {}
    const entered = new Promise<void>((enter, refuse) => {
      const call = { groups, seeker, enter, refuse }
      this.queue.add(call)
      addTo(this.waiting, seeker.keyId, 1)
      leave = () => this.remove(call)
    })
    const { waitMs } = seeker
    if (waitMs === null) return entered
    await withDeadline(entered, waitMs, () => {
      leave()
      return rateLimited(`${this.whatIsFull(groups)} None of them ended within ${waitMs} ms.`)
    })
  }

  private assertFewWait(keyId: string): void {
    if (this.waits(keyId) < MAX_WAITING_PER_KEY) return
    for (const call of this.queue.of(ownGroup(keyId)).filter(({ seeker }) => !seeker.isWanted())) {
      this.remove(call)
      call.refuse(goneError())
    }
    if (this.waits(keyId) >= MAX_WAITING_PER_KEY)
      throw rateLimited(
        `${MAX_WAITING_PER_KEY} long requests of this key (lists, simulations and the like) are already waiting.`,
      )
  }

  private waits(keyId: string): number {
    return this.waiting.get(keyId) ?? 0
  }

  private remove(call: WaitingCall): void {
    this.queue.remove(call)
    addTo(this.waiting, call.seeker.keyId, -1)
  }

  /** Hands the place to the next call in the queue. */
  private leave(groups: readonly string[]): void {
    this.shares.count(groups, -1)
    let next = this.next()
    for (; next !== undefined && !next.seeker.isWanted(); next = this.next()) next.refuse(goneError())
    if (next === undefined) return
    this.shares.count(next.groups, 1)
    next.enter()
  }

  private next(): WaitingCall | undefined {
    const next = this.queue.take((groups) => this.shares.fullGroup(groups) === undefined)
    if (next !== undefined) addTo(this.waiting, next.seeker.keyId, -1)
    return next
  }

  private whatIsFull(groups: readonly string[]): string {
    const { limit, whose } = this.shares.fullGroup(groups) ?? { limit: PLACES, whose: 'all' }
    return `${limit} long requests of ${OF_WHOM[whose]} (lists, simulations and the like) are in progress, which is the limit.`
  }
}

/** A place that a call holds. */
export class HeldPlace {
  /** @param free gives the place up; null while the call holds none */
  constructor(
    private readonly places: Places,
    private readonly seeker: PlaceSeeker,
    private free: (() => void) | null,
  ) {}

  leave(): void {
    this.free?.()
    this.free = null
  }

  /**
   * Waits without holding a place.
   *
   * @throws what `wait` throws; DomainError rate_limited when no place becomes free in time afterwards
   */
  async outside<T>(wait: () => Promise<T>): Promise<T> {
    this.leave()
    const result = await this.places.whileWaiting(this.seeker.keyId, wait)
    this.free = await this.places.enter({ ...this.seeker, isUnderWay: true })
    return result
  }
}

const OF_WHOM = { all: 'all keys', line: 'this key and its related keys', key: 'this key' } as const

/** The caller has disconnected, so no one reads this error. */
export function goneError(): DomainError {
  return new DomainError('rate_limited', { detail: 'The caller has disconnected.' })
}

function rateLimited(why: string): DomainError {
  return new DomainError('rate_limited', { detail: `${why} Retry in 1 s.`, headers: { 'Retry-After': '1' } })
}
