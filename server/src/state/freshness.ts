import { type Moment, msBetween, thisMoment } from '@countersign/concurrency'
import { DomainError } from '../domain-error.js'

/** What this process knew of the policies, agents and keys when a request came. */
export interface Knowledge {
  readonly confirmed: Moment
  /** How often others had changed them by then. */
  readonly changes: number
}

/** Whether this process may answer by the policies, agents and keys that it keeps in memory. */
export interface Freshness {
  readonly isFresh: boolean
  /**
   * Asked at the moment of use: a process that was frozen knows nothing of it.
   *
   * @throws DomainError replica_stale
   */
  use(): Knowledge
  /** Asked before an answer leaves: what it rests on may have become old while it was made. */
  holds(used: Knowledge): boolean
}

const EVERYTHING: Knowledge = { confirmed: { monotonicMs: 0, wallMs: 0 }, changes: 0 }

/** Of a process that alone changes its store. */
export const alwaysFresh: Freshness = { isFresh: true, use: () => EVERYTHING, holds: () => true }

/** What others changed counts within this time, or nothing is answered. */
const MAX_AGE_MS = 2000

/** Of a process that shares its store: fresh for a while after each look that found memory to be what the store holds. */
export class ConfirmedFreshness implements Freshness {
  private confirmed: Moment | null = null
  private changes = 0

  constructor(private readonly now: () => Moment = thisMoment) {}

  /** Memory is what the store held at some moment after this one. */
  confirm(at: Moment): void {
    if (this.confirmed === null || at.monotonicMs > this.confirmed.monotonicMs) this.confirmed = at
  }

  /** Memory is no longer what it was: said once it is not. */
  changed(): void {
    this.changes += 1
  }

  get isFresh(): boolean {
    return this.confirmed !== null && this.isYoung(this.confirmed)
  }

  use(): Knowledge {
    if (this.confirmed === null || !this.isYoung(this.confirmed)) throw new DomainError('replica_stale')
    return { confirmed: this.confirmed, changes: this.changes }
  }

  /** An answer may take long to make: as long as nothing has changed, what was confirmed since counts for it, too. */
  holds(used: Knowledge): boolean {
    return used.changes === this.changes ? this.isFresh : this.isYoung(used.confirmed)
  }

  private isYoung(at: Moment): boolean {
    return msBetween(at, this.now()) <= MAX_AGE_MS
  }
}
