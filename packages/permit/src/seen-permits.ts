/** Remembers which permits were used. Several verifiers may share one; a store can share it among several processes. */
export interface SeenPermits {
  /**
   * Records a permit until `exp` (seconds since 1970), atomically. True for the first caller that records this `jti`,
   * false for all later ones. Throws or rejects when it cannot tell: the permit is then refused.
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
 * A memory of this process: it forgets a permit some time after its expiry, and all permits when the process ends.
 *
 * When `max` permits are remembered and none has expired, `add` throws: forgetting one early would let it pass twice.
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
