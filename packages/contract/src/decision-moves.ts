import type { AuditType } from './audit.js'
import type { DecisionStatus } from './decision.js'

/** The moves of a decision, by the type of their audit entry. */
export type DecisionMove = Exclude<Extract<AuditType, `decision.${string}`>, 'decision.created'>

/** The moves that each status allows. All others are refused. */
const MOVES: Readonly<Record<DecisionStatus, readonly DecisionMove[]>> = {
  awaiting_review: ['decision.approved', 'decision.declined', 'decision.rejected', 'decision.expired'],
  approved: ['decision.claimed', 'decision.declined', 'decision.rejected', 'decision.expired'],
  authorized: ['decision.redeemed', 'decision.confirmed', 'decision.rejected', 'decision.expired'],
  confirmed: ['decision.corrected'],
  rejected: ['decision.corrected'],
  expired: ['decision.confirmed', 'decision.rejected'],
  denied: [],
  declined: [],
}

const BEFORE_AUTHORIZATION: ReadonlySet<DecisionStatus> = new Set(['awaiting_review', 'approved'])

/**
 * Whether a decision may make this move. Who may make it, and until when, is checked elsewhere.
 *
 * @param status as of the move; `expired` when the decision has expired by then
 * @param wasAuthorized whether a holder was ever allowed to run the action: only then can it have an outcome
 */
export function isLegalMove(move: DecisionMove, status: DecisionStatus, wasAuthorized: boolean): boolean {
  return MOVES[status].includes(move) && (wasAuthorized || BEFORE_AUTHORIZATION.has(status))
}
