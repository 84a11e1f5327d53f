import { DeniedError } from '../../errors/denied-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'

/** Names of errors, and codes of Node, its fetch and well-known clients, after which a request may have been carried out. */
const NAMES: ReadonlySet<unknown> = new Set([
  'AbortError',
  'CanceledError',
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'TimeoutError',
])
const CODES: ReadonlySet<unknown> = new Set([
  'ABORT_ERR',
  'ECONNABORTED',
  'ECONNRESET',
  'EPIPE',
  'ERR_CANCELED',
  'ERR_HTTP2_GOAWAY_SESSION',
  'ERR_HTTP2_SESSION_ERROR',
  'ERR_HTTP2_STREAM_CANCEL',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ESOCKETTIMEDOUT',
  'ETIMEDOUT',
  'UND_ERR_ABORTED',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
  'body-timeout',
  'request-timeout',
])
/** Of HTTP: a gateway or a server gave up waiting. */
const STATUSES: ReadonlySet<unknown> = new Set([408, 504])
/** Of gRPC: cancelled, unknown, deadline exceeded, unavailable. */
const GRPC_CODES: ReadonlySet<unknown> = new Set([1, 2, 4, 14])
const MOST_ERRORS = 32

/**
 * Whether an action that failed this way may have done what it was to do: it ran out of time, was aborted, or lost a
 * connection on the way. Looks at the error, at its causes, and at the errors that it gathers.
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
  const errors = [error]
  for (let looked = 0; errors.length > 0 && looked < MOST_ERRORS; looked += 1) {
    const at = errors.shift()
    if (typeof at !== 'object' || at === null) continue
    // What was denied has not begun, whatever kept it from being asked.
    if (DeniedError.isInstance(at)) continue
    if (UnavailableError.isInstance(at)) return true
    const { name, code, type, status, statusCode, details, cause, errors: all } = at as Record<string, unknown>
    if (NAMES.has(name) || CODES.has(code) || CODES.has(type) || STATUSES.has(status ?? statusCode)) return true
    if (GRPC_CODES.has(code) && typeof details === 'string') return true
    errors.push(cause, ...(Array.isArray(all) ? all.slice(0, MOST_ERRORS) : []))
  }
  return false
}
