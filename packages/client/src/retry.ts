/** Before the second attempt at most this long, before the third at most twice as long. */
const BASE_MS = 50
const CAP_MS = 500
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function isRetryableStatus(status: number): boolean {
  return RETRYABLE_STATUSES.has(status)
}

/**
 * How long to wait before the next attempt: full jitter, on top of what the server asked for.
 *
 * `attempt` counts the attempts made so far, from 1; `random` is in [0, 1).
 */
export function retryDelayMs(attempt: number, retryAfterSeconds: number | null, random: number): number {
  const jitterMs = random * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1))
  return (retryAfterSeconds ?? 0) * 1000 + jitterMs
}

/** Whole seconds; the HTTP date form is not used by the decision point and counts as absent. */
export function parseRetryAfter(header: string | null): number | null {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) : null
}
