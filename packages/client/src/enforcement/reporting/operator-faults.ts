/** Warns of faults that only the operator can fix, if there is no listener for events. */
import { ApiError } from '../../errors/api-error.js'
import { DeniedError } from '../../errors/denied-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import { ofProcess } from '../../of-process.js'
import { warnOperator } from '../../operator-warning.js'
import { ClockFault } from '../asking/denial.js'
import type { EnforcementEvent } from './enforcement-event.js'

/**
 * Gets the events if there is no `onEvent`.
 *
 * @param now the clock that decisions are checked by
 */
export function warnOfFaults(event: EnforcementEvent, now: () => number): void {
  if (event.type === 'decision') warnOfSlowClock(event.decision.evaluated_at, now())
  else if (event.type === 'settlement_failed') warnOfSettlement(event.decision_id, event.error)
  else if ((event.type === 'denied' || event.type === 'observed') && event.error !== null) warnOfFault(event.error)
}

/**
 * Warns of a fault that only the operator can fix: a wrong key or address, a missing scope, a malformed question, a faulty mapping, a
 * wrong clock. Ignores anything else. For integrations.
 */
export function warnOfFault(error: unknown): void {
  const cause = DeniedError.isInstance(error) ? error.cause : error
  if (ApiError.isInstance(cause)) warnOfProblem(cause)
  else if (UnavailableError.isInstance(cause)) warnOfSilence(cause)
  else if (cause instanceof ClockFault) warnOperator('COUNTERSIGN_CLOCK', cause.message)
  else if (DeniedError.isInstance(error) && NOT_ASKED.has(error.reason))
    warnOfMapping(cause, faultPlaceOf(error) ?? faultPlaceOf(cause))
}

/** Reasons for which nothing was sent. */
const NOT_ASKED: ReadonlySet<string> = new Set(['mapping_failed', 'question_refused', 'arguments_refused'])
/** Errors of the language, and of this package. Other errors are refusals in the app's own words. */
const MISTAKES: ReadonlySet<unknown> = new Set(['TypeError', 'ReferenceError', 'RangeError'])
const SCOPE = /\b[a-z]{1,32}:[a-z]{1,32}\b/
/** How far the clock of the decision point may be ahead. */
const SKEW_MS = 30_000

function warnOfProblem({ status, code, message, detail, errors }: ApiError): void {
  if (status === 401) {
    warnOperator(
      'COUNTERSIGN_WRONG_KEY',
      `The decision point rejects the API key (${message}). Set COUNTERSIGN_API_KEY, or apiKey of the client, to a key of this decision point that is neither revoked nor expired.`,
    )
  } else if (code === 'insufficient_scope') {
    warnOperator(
      'COUNTERSIGN_MISSING_SCOPE',
      `The API key lacks a scope (${message}). Create a key that has it, and set COUNTERSIGN_API_KEY, or apiKey of the client, to that.`,
      // The text names the missing scope first. One warning for each scope, because a key may lack several.
      SCOPE.exec(detail)?.[0],
    )
  } else if (code === 'agent_not_allowed') {
    warnOperator(
      'COUNTERSIGN_AGENT_NOT_ALLOWED',
      `The API key is bound to other agents (${message}). Ask for an agent of the key, or create a key for this one.`,
    )
  } else if (code === 'validation_failed' || code === 'malformed_json') {
    warnOperator(
      'COUNTERSIGN_QUESTION_REFUSED',
      `The decision point rejected the request (${message}). Correct what gives this member: the value, or the function that maps to it.`,
      memberAt(errors[0]?.pointer.slice(1)),
    )
  } else if (status === 404 || status === 405) {
    warnOfAddress(message)
  }
}

function warnOfSilence({ kind, message }: UnavailableError): void {
  if (kind === 'bad_answer') warnOfAddress(message)
  if (kind !== 'connection') return
  warnOperator(
    'COUNTERSIGN_UNREACHABLE',
    `The decision point cannot be reached (${message}). Start it, or set COUNTERSIGN_URL, or baseUrl of the client, to where it listens.`,
  )
}

function warnOfAddress(message: string): void {
  warnOperator(
    'COUNTERSIGN_WRONG_ADDRESS',
    `The server at the address of the decision point gave no usable answer (${message}). Set COUNTERSIGN_URL, or baseUrl of the client, to the decision point, and check the proxies in between.`,
  )
}

/** @param place where the developer wrote the mapping, if that is known */
function warnOfMapping(cause: unknown, place?: string): void {
  const { name, message, code } = Object(cause) as { name?: unknown; message?: unknown; code?: unknown }
  if (!MISTAKES.has(name)) return
  const own = typeof code === 'string' && code.startsWith('COUNTERSIGN_') ? code : undefined
  warnOperator(
    own ?? 'COUNTERSIGN_MAPPING_FAILED',
    `A call could not be mapped to a request (${place === undefined ? '' : `${place}: `}${name}: ${message}). ${own ? '' : 'Correct what gives agent_id, action, resource and context: the value, or the function that maps to it.'}`.trim(),
    // Without a place, the message begins with the faulty member.
    `${place ?? ''} ${memberAt(String(message))}`,
  )
}

function warnOfSettlement(decision_id: string, error: unknown): void {
  if (error instanceof TypeError) {
    warnOperator(
      'COUNTERSIGN_SETTLEMENT_FAULTY',
      `The outcome of an action could not be reported, so its decision counts as spent when it expires (decision ${decision_id}; ${error.message}). Correct what settles it: settleOn, outcome, or the amount of the confirmation.`,
    )
  } else if (ApiError.isInstance(error) && (error.status === 401 || error.code === 'insufficient_scope')) {
    warnOfProblem(error)
  }
}

function warnOfSlowClock(evaluated_at: string, nowMs: number): void {
  const aheadMs = Date.parse(evaluated_at) - nowMs
  if (aheadMs > SKEW_MS) warnOfFault(new ClockFault('arrived', aheadMs, 'was made, so this clock is behind'))
}

/** The member of the question that a text begins with. A caller cannot add to these places. */
function memberAt(text = ''): string {
  return ['agent_id', 'action', 'resource', 'context'].find((member) => text.startsWith(member)) ?? ''
}

/** Where the developer wrote what failed. Each place has its own warning, so that a bad call at one place hides no other. */
const places = ofProcess('fault-places.1', () => new WeakMap<object, string>())

/**
 * Notes where an error or a question comes from. For integrations.
 *
 * @param place such as `POST /refunds/:id resource`; never anything that a caller chooses
 */
export function noteFaultPlace(subject: unknown, place: string): void {
  if (typeof subject === 'object' && subject !== null) places.set(subject, place)
}

export function faultPlaceOf(subject: unknown): string | undefined {
  return typeof subject === 'object' && subject !== null ? places.get(subject) : undefined
}
