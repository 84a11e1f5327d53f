import type { DecisionStatus } from '@countersign/contract'
import { type DecisionMove, isLegalMove } from '@countersign/contract/decision-moves'
import { DomainError } from '../../domain-error.js'
import type { StoredDecision } from '../../ports/store/documents.js'

const OPEN: ReadonlySet<DecisionStatus> = new Set(['awaiting_review', 'approved', 'authorized'])

/** The status as of `now`. A decision that is still open at `expires_at` ends at that moment. */
export function presentStatus(decision: Pick<StoredDecision, 'status' | 'expires_at'>, now: string): DecisionStatus {
  return OPEN.has(decision.status) && decision.expires_at <= now ? 'expired' : decision.status
}

/** Whether the decision still waits for a reviewer, a claim or an outcome. */
export function isOpen(decision: Pick<StoredDecision, 'status' | 'expires_at'>, now: string): boolean {
  return OPEN.has(presentStatus(decision, now))
}

/** Whether a holder was ever allowed to run the action. Only then can it have happened. */
export function wasAuthorized(decision: StoredDecision): boolean {
  return decision.holder !== null
}

/** Whether the status allows this move now. The caller of this function checks who may make it, and until when. */
export function mayMove(move: DecisionMove, decision: StoredDecision, now: string): boolean {
  return isLegalMove(move, presentStatus(decision, now), wasAuthorized(decision))
}

/** The error of a transition that the present status does not allow; `verb` as in `can't be confirmed`. */
export function invalidTransition(decision: StoredDecision, now: string, verb: string): DomainError {
  return transitionRefused(decision, now, `it cannot be ${verb}`)
}

/** The error of a transition that needs the request, after the request was erased. */
export function requestErased(decision: StoredDecision, now: string): DomainError {
  return transitionRefused(decision, now, 'its request was erased, so it cannot be evaluated again')
}

function transitionRefused(decision: StoredDecision, now: string, why: string): DomainError {
  const status = presentStatus(decision, now)
  return new DomainError('invalid_transition', {
    detail: `The decision is ${status.replace('_', ' ')}; ${why}.`,
    currentStatus: status,
  })
}
