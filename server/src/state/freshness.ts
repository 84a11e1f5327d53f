import { DomainError } from '../domain-error.js'

/** A moment by both clocks: the monotonic one stands still while a machine sleeps, the other one may be set back. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** Whether this process may answer by the policies, agents and keys that it keeps in memory. */
export interface Freshness {
  readonly isFresh: boolean
  /**
   * Asked at the moment of use, for a process that was frozen knows nothing of it. Answers when memory was confirmed.
   *
   * @throws DomainError replica_stale
   */
  use(): Moment
  /**
   * Asked before an answer leaves that waited for anything since its rules were used: they may have become old meanwhile.
   *
   * @throws DomainError replica_stale
   */
  assertStill(used: Moment): void
}

const NOW_AND_EVER: Moment = { monotonicMs: 0, wallMs: 0 }

/** Of a process that alone changes its store. */
export const alwaysFresh: Freshness = { isFresh: true, use: () => NOW_AND_EVER, assertStill() {} }

/** So old may be what was confirmed last, while looks fail. */
const MAX_AGE_MS = 5000
/** A process that did nothing for longer was frozen: a change of others may have to count by now. */
const MAX_STILL_MS = 2000

/**
 * Of a process that shares its store: fresh for a while after each look that found memory to be what the store holds, and
 * not after it was frozen, until it has looked.
 */
export class ConfirmedFreshness implements Freshness {
  private confirmed: Moment | null = null
  private ticked: Moment
  private thawedAtMs = Number.NEGATIVE_INFINITY

  constructor(private readonly now: () => Moment = presentMoment) {
    this.ticked = now()
  }

  /** Memory is what the store held at some moment after this one. */
  confirm(at: Moment): void {
    if (this.confirmed === null || at.monotonicMs > this.confirmed.monotonicMs) this.confirmed = at
  }

  /** Called all the time, so that it shows when it was not. */
  tick(): void {
    const now = this.now()
    if (isOlder(this.ticked, now, MAX_STILL_MS)) this.thawedAtMs = now.monotonicMs
    this.ticked = now
  }

  get isFresh(): boolean {
    return this.confirmed !== null && this.isYoung(this.confirmed)
  }

  use(): Moment {
    if (this.confirmed === null || !this.isYoung(this.confirmed)) throw new DomainError('replica_stale')
    return this.confirmed
  }

  assertStill(used: Moment): void {
    if (!this.isYoung(used)) throw new DomainError('replica_stale')
  }

  private isYoung(at: Moment): boolean {
    const now = this.now()
    return (
      at.monotonicMs >= this.thawedAtMs && !isOlder(this.ticked, now, MAX_STILL_MS) && !isOlder(at, now, MAX_AGE_MS)
    )
  }
}

function isOlder(at: Moment, now: Moment, ms: number): boolean {
  return now.monotonicMs - at.monotonicMs > ms || now.wallMs - at.wallMs > ms
}

export function presentMoment(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}
