/** A moment on both clocks of a machine: one stands still while the machine sleeps, the other may be set back. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function thisMoment(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}

/** Returns the time between the two moments, by the clock that shows more. */
export function msBetween(earlier: Moment, later: Moment): number {
  return Math.max(later.monotonicMs - earlier.monotonicMs, later.wallMs - earlier.wallMs)
}

export function msSince(moment: Moment): number {
  return msBetween(moment, thisMoment())
}
