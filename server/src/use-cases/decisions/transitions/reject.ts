import type { Decision } from '@countersign/contract'
import type { StoredDecision } from '@countersign/store-port/documents'
import type { Caller } from '../../../caller.js'
import type { IdempotencyDraft } from '../../idempotency.js'
import { invalidTransition, presentStatus } from '../status.js'
import { assertMaySettle } from './settle-rights.js'
import { committed, isOpenForLate, isSettledAs, settle } from './settlement.js'
import { type Transition, type TransitionDeps, transitionDecision } from './transition.js'

const REJECTED = { result: 'rejected' } as const

/**
 * The action did not happen: gives back what was reserved. The key that asked withdraws an open review the same way.
 *
 * @throws DomainError not_found, insufficient_scope, permit_redeemed, invalid_transition
 *
 * Source: docs/lifecycle.md
 */
export async function rejectDecision(
  deps: TransitionDeps,
  caller: Caller,
  id: string,
  reason: string | null,
  idempotency: IdempotencyDraft | null,
): Promise<Decision> {
  return transitionDecision(deps, caller, id, idempotency, ({ decision }, now) => {
    assertMaySettle(caller, decision, REJECTED)
    if (isSettledAs(decision, REJECTED)) return null
    const late = isOpenForLate(decision, now)
    const isWithdrawn = mayWithdraw(caller, decision, now)
    if (!late && !isWithdrawn && presentStatus(decision, now) !== 'authorized')
      throw invalidTransition(decision, now, 'rejected')
    const settled = settle(decision, REJECTED, { at: now, note: reason, late, corrected: false })
    const changes: Transition['changes'] = isWithdrawn ? { ...settled, review: withdrawn(decision) } : settled
    return {
      type: 'decision.rejected',
      changes,
      data: { outcome: settled.outcome, committed: committed(decision, settled.postings) },
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
