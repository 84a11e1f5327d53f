/**
 * Maps every refusal to an answer: 401 for an unknown caller, 403 for an action that may not run, 503 when there is no
 * usable answer.
 */
import { ApiError, DeniedError } from '@countersign/client'
import { PermitError, type PermitErrorCode } from '@countersign/permit'
import { PERMIT_SENTENCES } from './refusal-sentences.js'
import { RouteDeniedError, type RouteDeniedStatus } from './route-denied-error.js'

/** Thrown when the mapping of a question finds no agent for the call. */
export class AgentMissing extends Error {
  override readonly name = 'AgentMissing'
}

/**
 * Converts the refusal of an enforcement point or of a permit; returns any other error unchanged. Never returns a value
 * that Express does not treat as an error, such as undefined, or that skips the handler, such as `route`.
 */
export function denialOf(error: unknown, permitScheme = 'Bearer'): unknown {
  if (RouteDeniedError.isInstance(error)) return error
  if (DeniedError.isInstance(error)) return ofDenied(error)
  if (error instanceof PermitError) return ofPermit(error, permitScheme)
  return typeof error === 'object' && error !== null ? error : new Error('the guard failed', { cause: error })
}

function ofDenied(error: DeniedError): RouteDeniedError {
  const { reason, decision_id, advice, comment, cause } = error
  const fields = { code: reason, decision_id, advice, comment, cause: error }
  if (cause instanceof AgentMissing) {
    return new RouteDeniedError({ ...fields, code: 'agent_missing', status: 401, headers: challenge('Bearer') })
  }
  if (reason === 'unavailable') {
    return new RouteDeniedError({ ...fields, status: 503, headers: retryAfter(error.retryAfterSeconds) })
  }
  if (reason === 'refused' && ApiError.isInstance(cause)) {
    if (cause.code === 'idempotency_key_reused') {
      return new RouteDeniedError({ ...fields, code: 'idempotency_key_reused', status: 422 })
    }
    return new RouteDeniedError({ ...fields, status: isOurFault(cause) ? 503 : 403 })
  }
  return new RouteDeniedError({ ...fields, ...(error.detail !== null && { detail: error.detail }), status: 403 })
}

/** Whether every call would be refused, whatever the caller sends: a faulty key, or no decision point at that address. */
export function isOurFault({ status, code }: ApiError): boolean {
  return status === 401 || status === 404 || status === 405 || code === 'insufficient_scope'
}

const FORBIDDEN: readonly PermitErrorCode[] = [
  'effect_not_allowed',
  'expectation_missing',
  'action_mismatch',
  'resource_mismatch',
  'agent_mismatch',
  'amount_mismatch',
  'unit_mismatch',
  'request_hash_mismatch',
]
const CANNOT_TELL: readonly PermitErrorCode[] = ['key_set_unavailable', 'replay_check_failed']

function ofPermit(error: PermitError, scheme: string): RouteDeniedError {
  const { code } = error
  const status: RouteDeniedStatus = CANNOT_TELL.includes(code) ? 503 : FORBIDDEN.includes(code) ? 403 : 401
  const headers = {
    401: challenge(scheme, 'invalid_token', code),
    403: challenge(scheme, 'insufficient_scope', code),
    503: retryAfter(error.retryAfterSeconds),
    422: {},
  }[status]
  return new RouteDeniedError({ code, status, headers, detail: PERMIT_SENTENCES[code], cause: error })
}

/**
 * Returns the header that names the way to authenticate or to show a permit (RFC 6750). Code and scheme are constants,
 * never texts of the caller.
 */
export function challenge(scheme: string, error?: string, code?: string): Record<string, string> {
  const parameters = error === undefined ? '' : ` error="${error}", error_description="${code}"`
  return { 'WWW-Authenticate': `${scheme}${parameters}` }
}

export function retryAfter(seconds: number | null): Record<string, string> {
  return { 'Retry-After': String(Math.max(1, Math.ceil(seconds ?? 1))) }
}
