import type { Decision, Reject } from '@countersign/contract'
import type { StoredDecision } from '@countersign/store-port/documents'
import type { Caller } from '../../../caller.js'
import { invalidTransition, presentStatus } from '../status.js'
import { assertMaySettle } from './settle-rights.js'
import { isOpenForLate, isSettledAs, settle } from './settlement.js'
import { type TransitionCall, type TransitionDeps, transitionDecision } from './transition.js'

const REJECTED = { result: 'rejected' } as const

/**
 * The action did not happen: gives back what was reserved. The key that asked withdraws an open review the same way.
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
    const late = isOpenForLate(decision, now)
    const isWithdrawn = mayWithdraw(call.caller, decision, now)
    if (!late && !isWithdrawn && presentStatus(decision, now) !== 'authorized')
      throw invalidTransition(decision, now, 'rejected')
    const { changes, data } = settle(decision, REJECTED, { at: now, note: reason, late, corrected: false })
    return {
      type: 'decision.rejected',
      changes: isWithdrawn ? { ...changes, review: withdrawn(decision) } : changes,
      data,
    }
  })
}

/** Before a claim nobody runs the action. Only the key that asked can withdraw the request. */
function mayWithdraw(caller: Caller, decision: StoredDecision, now: string): boolean {
  const status = presentStatus(decision, now)
  return (status === 'awaiting_review' || status === 'approved') && decision.key_id === caller.key.id
}

function withdrawn({ review }: StoredDecision): StoredDecision['review'] {
  return review && { ...review, status: 'withdrawn' }
}
