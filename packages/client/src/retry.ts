import { ApiError } from './errors/api-error.js'
import { UnavailableError } from './errors/unavailable-error.js'

/** The longest delay before the second attempt; the third waits at most twice as long. */
const BASE_MS = 50
const CAP_MS = 500
/** The longest delay before the first reconnection of a stream; each further one waits at most twice as long. */
const RECONNECT_BASE_MS = 250
const RECONNECT_CAP_MS = 10_000
/** The limit for any delay that a server asks for. */
const RECONNECT_MAX_MS = 60 * 60 * 1000
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function isRetryableStatus(status: number): boolean {
  return RETRYABLE_STATUSES.has(status)
}

/** Whether work that survives a restart of the decision point continues after this status. */
export function isFaultStatus(status: number): boolean {
  return status >= 500 || isRetryableStatus(status)
}

/**
 * Returns the delay before the next attempt: full jitter, on top of what the server asked for.
 *
 * `attempt` counts the attempts made so far, from 1; `random` is in [0, 1).
 */
export function retryDelayMs(attempt: number, retryAfterSeconds: number | null, random: number): number {
  const jitterMs = random * Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1))
  return (retryAfterSeconds ?? 0) * 1000 + jitterMs
}

/**
 * Returns the delay before a stream reconnects: half of a growing window and a random part of the other half, on top of
 * what the server asked for. An hour at most.
 *
 * `attempt` counts the useless connections, from 1; `askedMs` is the stream's `retry`.
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

/** Reads whole seconds; the decision point does not use the HTTP date form, which counts as absent. */
export function parseRetryAfter(header: string | null): number | null {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) : null
}

/** Whether a later attempt may not meet this fault: the decision point is down, restarting or busy. */
export function isPassing(error: unknown): error is ApiError | UnavailableError {
  if (UnavailableError.isInstance(error)) return error.kind !== 'bad_answer' || isFaultStatus(error.status ?? 0)
  return ApiError.isInstance(error) && isFaultStatus(error.status)
}
