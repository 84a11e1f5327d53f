import { type Moment, msBetween, thisMoment } from '../concurrency/moment.js'
import { DomainError } from '../domain-error.js'

/** The policies, agents and keys that this process had in memory when a request arrived. */
export interface Snapshot {
  readonly confirmed: Moment
  /** How often other processes had changed them by then. */
  readonly changes: number
}

/** Tells whether this process may answer from the policies, agents and keys in its memory. */
export interface Freshness {
  readonly isFresh: boolean
  /**
   * Call this when memory is used, not before: a process cannot know that it was frozen in between.
   *
   * @throws DomainError replica_stale
   */
  snapshot(): Snapshot
  /** Call this before an answer is sent: its snapshot may have become too old. */
  isCurrent(snapshot: Snapshot): boolean
}

const UNCHANGED: Snapshot = { confirmed: { monotonicMs: 0, wallMs: 0 }, changes: 0 }

/** For a process that is the only one to change its store. */
export const alwaysFresh: Freshness = { isFresh: true, snapshot: () => UNCHANGED, isCurrent: () => true }

/** A change by another process takes effect here within this time, or this process stops answering. */
const MAX_AGE_MS = 2000

/** For a process that shares its store: fresh for a while after each poll that found memory up to date. */
export class ConfirmedFreshness implements Freshness {
  private confirmed: Moment | null = null
  private changes = 0

  constructor(private readonly now: () => Moment = thisMoment) {}

  /** Confirms that memory has the state that the store had at some time after `at`. */
  confirm(at: Moment): void {
    if (this.confirmed === null || at.monotonicMs > this.confirmed.monotonicMs) this.confirmed = at
  }

  /** Call it after memory changed. */
  changed(): void {
    this.changes += 1
  }

  get isFresh(): boolean {
    return this.confirmed !== null && this.isYoung(this.confirmed)
  }

  snapshot(): Snapshot {
    if (this.confirmed === null || !this.isYoung(this.confirmed)) throw new DomainError('replica_stale')
    return { confirmed: this.confirmed, changes: this.changes }
  }

  /** While nothing changes, a later confirmation also covers earlier snapshots, because an answer may take long. */
  isCurrent(snapshot: Snapshot): boolean {
    return snapshot.changes === this.changes ? this.isFresh : this.isYoung(snapshot.confirmed)
  }

  private isYoung(at: Moment): boolean {
    return msBetween(at, this.now()) <= MAX_AGE_MS
  }
}
