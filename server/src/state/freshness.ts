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

/** So old may be what was confirmed last. */
const MAX_AGE_MS = 5000

/** Of a process that shares its store: fresh for a while after each look that found memory to be what the store holds. */
export class ConfirmedFreshness implements Freshness {
  private confirmed: Moment | null = null

  constructor(private readonly now: () => Moment = presentMoment) {}

  /** Memory is what the store held at some moment after this one. */
  confirm(at: Moment): void {
    if (this.confirmed === null || at.monotonicMs > this.confirmed.monotonicMs) this.confirmed = at
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
    const { monotonicMs, wallMs } = this.now()
    return monotonicMs - at.monotonicMs <= MAX_AGE_MS && wallMs - at.wallMs <= MAX_AGE_MS
  }
}

export function presentMoment(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}
