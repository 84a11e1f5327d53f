/** Why an action may not run: every answer and every fault, as a DeniedError. */
import { ApiError } from '../errors/api-error.js'
import { DeniedError, type DeniedFields, type DeniedReason } from '../errors/denied-error.js'
import { NotPermittedError } from '../errors/not-permitted-error.js'
import { UnavailableError } from '../errors/unavailable-error.js'
import type { Decision, DecisionStatus } from '../wire.js'
import { ClockFault } from './clock-fault.js'
import type { Would } from './enforcement-event.js'

const BY_STATUS: Readonly<Record<DecisionStatus, DeniedReason>> = {
  awaiting_review: 'review_required',
  approved: 'review_required',
  // It would run, were it not over by this clock.
  authorized: 'expired',
  denied: 'denied',
  declined: 'declined',
  expired: 'expired',
  confirmed: 'settled',
  rejected: 'settled',
}

/** Codes of problems that are reasons of their own. */
const SAID = ['already_claimed', 'agent_suspended', 'policy_denies', 'permit_already_used'] as const

/** A decision that does not permit. @param now in milliseconds since 1970 */
export function denialBy(decision: Decision, now: number): DeniedError {
  const { status, review } = decision
  const isWithdrawn = status === 'rejected' && review?.status === 'withdrawn'
  const overMs = now - Date.parse(decision.expires_at)
  // The decision point says that it may run.
  if (status === 'authorized' && overMs >= 0) return denial('expired', decision, { cause: ClockFault.ahead(overMs) })
  return denial(isWithdrawn ? 'withdrawn' : (BY_STATUS[status] ?? 'denied'), decision)
}

/** What the advice of a decision is about: how it was decided, and not what became of it since. */
const ADVISED: readonly DeniedReason[] = ['denied', 'review_required']

export function denial(reason: DeniedReason, decision: Decision | null, fields: DeniedFields = {}): DeniedError {
  const advice = ADVISED.includes(reason) ? decision?.advice : null
  return new DeniedError(reason, { decision_id: decision?.id, advice, ...fields })
}

/** Maps everything but a permitting decision to a refusal, including errors that are not known. */
export function denialFor(error: unknown, decision: Decision | null): DeniedError {
  if (DeniedError.isInstance(error)) return error
  if (NotPermittedError.isInstance(error)) {
    return denial(error.reason === 'not_reviewed' ? 'already_claimed' : error.reason, decision, { cause: error })
  }
  if (UnavailableError.isInstance(error)) {
    const isWaiting = decision?.status === 'awaiting_review' && error.kind === 'timeout'
    return denial(isWaiting ? 'review_required' : 'unavailable', decision, { cause: error })
  }
  if (!ApiError.isInstance(error)) return denial('unavailable', decision, { cause: error })
  const { retryAfterSeconds } = error
  return denial(reasonOfProblem(error), decision, { cause: error, retryAfterSeconds })
}

/** What would have become of an action that was not permitted. */
export function wouldBe({ reason }: DeniedError): Would {
  if (reason === 'review_required') return 'review'
  return reason === 'unavailable' ? 'unavailable' : 'deny'
}

function reasonOfProblem({ status, code }: ApiError): DeniedReason {
  const said = SAID.find((one) => one === code)
  return said ?? (status >= 500 || status === 429 ? 'unavailable' : 'refused')
}
