/** Computes when a delivery is attempted. docs/webhooks.md "Retries". */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** The delay before each attempt of a schedule; 75 hours and 35 minutes in all. */
export const ATTEMPT_DELAYS_MS: readonly number[] = [
  0,
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]

/** The longest delay that a receiver can ask for. */
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS

/** The share by which a delay may differ, so that deliveries that failed together do not return together. */
const JITTER = 0.1

/**
 * Returns how long to wait after a failed attempt. Null after the last attempt of the schedule.
 *
 * @param attempts how many attempts of the schedule have failed
 * @param retryAfterMs the delay that the receiver asked for; null for none
 * @param random from 0 up to 1
 */
export function delayAfter(attempts: number, retryAfterMs: number | null, random: () => number): number | null {
  const delayMs = ATTEMPT_DELAYS_MS[attempts]
  if (delayMs === undefined) return null
  const jittered = Math.round(delayMs * (1 - JITTER + 2 * JITTER * random()))
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS))
}

/**
 * Returns the delay that a `Retry-After` header asks for, in milliseconds; null when it is absent, invalid or in the
 * past. RFC 9110, 10.2.3.
 */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * SECOND_MS, MAX_RETRY_AFTER_MS)
  // Only accepts HTTP dates, because Date.parse accepts almost anything.
  if (!/^[A-Z][a-z]{2,8},? .* GMT$/.test(text)) return null
  const waitMs = Date.parse(text) - now.getTime()
  return waitMs > 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : null
}
