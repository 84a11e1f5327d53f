/** By both clocks of a machine: the one stands still while the machine sleeps, the other may be set back. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function thisMoment(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}

/** How long ago it was, by the clock that says more. */
export function msSince({ monotonicMs, wallMs }: Moment): number {
  return Math.max(performance.now() - monotonicMs, Date.now() - wallMs)
}
