import type { Decision, Reject } from '@countersign/contract'
import type { StoredDecision } from '../../../ports/store/documents.js'
import { invalidTransition, mayMove, presentStatus } from '../status.js'
import { assertMaySettle } from './settle-rights.js'
import { isBeforeClosing, isSettledAs, settle } from './settlement.js'
import { type TransitionCall, type TransitionDeps, transitionDecision } from './transition.js'

const REJECTED = { result: 'rejected' } as const

/**
 * Records that the action did not happen, and gives back what was reserved. The key that asked withdraws an open review
 * the same way.
 *
 * @throws DomainError not_found, insufficient_scope, permit_redeemed, invalid_transition
 *
 * Source: docs/lifecycle.md
 */
export function rejectDecision(
  deps: TransitionDeps,
  call: TransitionCall,
  { reason = null }: Reject,
): Promise<Decision> {
  return transitionDecision(deps, call, ({ decision }, now) => {
    assertMaySettle(call.caller, decision, REJECTED)
    if (isSettledAs(decision, REJECTED)) return null
    const status = presentStatus(decision, now)
    const isWithdrawn = status === 'awaiting_review' || status === 'approved'
    // Before a claim the action cannot run, and only the key that asked can withdraw the request.
    const isOfOther = isWithdrawn && decision.key_id !== call.caller.key.id
    if (!mayMove('decision.rejected', decision, now) || isOfOther || !isBeforeClosing(decision, now))
      throw invalidTransition(decision, now, 'rejected')
    const late = status === 'expired'
    const { changes, data } = settle(decision, REJECTED, { at: now, note: reason, late, corrected: false })
    return {
      type: 'decision.rejected',
      changes: isWithdrawn ? { ...changes, review: withdrawn(decision) } : changes,
      data,
    }
  })
}

function withdrawn({ review }: StoredDecision): StoredDecision['review'] {
  return review && { ...review, status: 'withdrawn' }
}
