import { UnavailableError } from '../errors/unavailable-error.js'

/** Names of errors, and codes of Node and its fetch, after which a request may have been carried out all the same. */
const NAMES: ReadonlySet<unknown> = new Set(['AbortError', 'TimeoutError'])
const CODES: ReadonlySet<unknown> = new Set([
  'ABORT_ERR',
  'ECONNABORTED',
  'ECONNRESET',
  'EPIPE',
  'ESOCKETTIMEDOUT',
  'ETIMEDOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
  'UND_ERR_ABORTED',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
])
const MAX_CAUSES = 8

/**
 * Whether an action that failed this way may have done what it was to do: it ran out of time, was aborted, or lost a
 * connection on the way. Looks at the error and at its causes.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  try {
    return isUnknown(error)
  } catch {
    // An error that cannot be looked at says nothing.
    return true
  }
}

function isUnknown(error: unknown): boolean {
  let at = error
  for (let depth = 0; depth < MAX_CAUSES && typeof at === 'object' && at !== null; depth += 1) {
    if (UnavailableError.isInstance(at)) return true
    const { name, code, cause } = at as { name?: unknown; code?: unknown; cause?: unknown }
    if (NAMES.has(name) || CODES.has(code)) return true
    at = cause
  }
  return false
}
