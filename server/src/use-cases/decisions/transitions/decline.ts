import type { Decision, Decline, Review } from '@countersign/contract'
import { invalidTransition, mayMove } from '../status.js'
import { assertMayReview, type ReviewRightsDeps } from './review-rights.js'
import { committed, releaseAll } from './settlement.js'
import { type TransitionCall, type TransitionDeps, transitionDecision } from './transition.js'

/**
 * Stops a reviewed action permanently, on behalf of a person. The review may be approved already, but not claimed.
 *
 * @throws DomainError not_found, self_approval, invalid_transition
 *
 * Source: docs/reviews.md
 */
export function declineDecision(
  deps: TransitionDeps & ReviewRightsDeps,
  call: TransitionCall,
  { comment = null }: Decline,
): Promise<Decision> {
  const { caller } = call
  return transitionDecision(deps, call, async ({ decision }, now) => {
    const isKin = await assertMayReview(deps, caller, decision)
    if (!mayMove('decision.declined', decision, now)) throw invalidTransition(decision, now, 'declined')
    const review: Review = {
      ...(decision.review as Review),
      status: 'declined',
      decided_by: caller.key.id,
      decided_at: now,
      comment,
      self_approved: isKin,
    }
    const postings = releaseAll(decision)
    return {
      type: 'decision.declined',
      changes: { status: 'declined', review, postings },
      data: { comment, self_approved: isKin, committed: committed(decision, postings) },
    }
  })
}
