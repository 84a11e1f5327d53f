/** Before the second attempt at most this long, before the third at most twice as long. */
const BASE_MS = 50
const CAP_MS = 500
/** Before a stream is connected anew the first time at most this long, then at most twice as long. */
const RECONNECT_BASE_MS = 250
const RECONNECT_CAP_MS = 10_000
/** However long a server asks one to wait. */
const RECONNECT_MAX_MS = 60 * 60 * 1000
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function isRetryableStatus(status: number): boolean {
  return RETRYABLE_STATUSES.has(status)
}

/** Whether what outlasts a restart of the decision point goes on after this status. */
export function isFaultStatus(status: number): boolean {
  return status >= 500 || isRetryableStatus(status)
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

/**
 * How long to wait before a stream is connected anew: half of a growing window and a random part of the other half, on top of what
 * the server asked for. An hour at most.
 *
 * `attempt` counts the connections that came to nothing, from 1; `askedMs` is the stream's `retry`.
 */
export function reconnectDelayMs(
  attempt: number,
  {
    askedMs = 0,
    retryAfterSeconds,
  }: { readonly askedMs?: number | undefined; readonly retryAfterSeconds: number | null },
  random: number,
): number {
  const windowMs = Math.min(RECONNECT_CAP_MS, RECONNECT_BASE_MS * 2 ** (attempt - 1))
  const least = Math.max(askedMs, (retryAfterSeconds ?? 0) * 1000)
  return Math.min(RECONNECT_MAX_MS, least + windowMs * (0.5 + random / 2))
}

/** Whole seconds; the HTTP date form is not used by the decision point and counts as absent. */
export function parseRetryAfter(header: string | null): number | null {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) : null
}
