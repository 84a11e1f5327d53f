/** Remembers which permits were taken. Several verifiers may share one; a store behind it may serve several processes. */
export interface SeenPermits {
  /**
   * Notes a permit until `exp` (seconds since 1970), in one indivisible step. True for the first who notes this `jti`,
   * false for everyone after. Throws or rejects when it cannot tell: the permit is then refused.
   */
  add(jti: string, exp: number): boolean | Promise<boolean>
}

export interface SeenPermitsOptions {
  /** How many permits are remembered at once; default 1,000,000 (about 100 MB when full). */
  readonly max?: number
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number
}

const SWEEP_SECONDS = 60
const SWEEP_SECONDS_WHEN_FULL = 1

/**
 * A memory of this process: a permit is forgotten some time after it is over, and when the process ends.
 *
 * When `max` permits are remembered and none is over, `add` throws: to forget one early would let it pass twice.
 */
export function createSeenPermits({ max = 1_000_000, now = Date.now }: SeenPermitsOptions = {}): SeenPermits {
  const expirations = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY

  const sweepWhenDue = (nowSeconds: number) => {
    const interval = expirations.size < max ? SWEEP_SECONDS : SWEEP_SECONDS_WHEN_FULL
    if (nowSeconds < sweptAt + interval) return
    sweptAt = nowSeconds
    for (const [jti, exp] of expirations) if (exp <= nowSeconds) expirations.delete(jti)
  }

  return {
    add(jti, exp) {
      if (expirations.has(jti)) return false
      sweepWhenDue(now() / 1000)
      if (expirations.size >= max)
        throw new Error(`The record of seen permits is full: ${max} permits have not expired yet.`)
      expirations.set(jti, exp)
      return true
    },
  }
}
