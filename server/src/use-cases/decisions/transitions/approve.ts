import type { Approve, Decision, Review } from '@countersign/contract'
import { applyBudgetViolation, type Evaluation } from '@countersign/engine'
import { DomainError } from '../../../domain-error.js'
import type { DecisionWithRequest } from '../../../ports/store/decisions.js'
import { ConflictError } from '../../../ports/store/store.js'
import type { Lifetimes } from '../new-decision.js'
import { reserveBudgets } from '../reserve-budgets.js'
import { invalidTransition, mayMove } from '../status.js'
import { type EvaluateAgainDeps, evaluateAgain } from './evaluate-again.js'
import type { ExpireDeps } from './expire.js'
import { assertMayReview, type ReviewRightsDeps } from './review-rights.js'
import { type Transition, type TransitionCall, transitionDecision } from './transition.js'

export interface ApproveDeps extends ExpireDeps, EvaluateAgainDeps, ReviewRightsDeps {
  readonly lifetimes: Lifetimes
}

/**
 * Lets a reviewed action proceed, on behalf of a person. The current policies must not deny it, and its budgets must
 * have room. The action runs only after a claim.
 *
 * @throws DomainError not_found, self_approval, agent_suspended, invalid_transition, policy_denies, budget_exceeded
 *
 * Source: docs/reviews.md
 */
export async function approveDecision(
  deps: ApproveDeps,
  call: TransitionCall,
  { comment = null, exceed_budget }: Approve,
): Promise<Decision> {
  const { caller, id, requestId } = call
  let endsAt: string | null = null
  const plan = async (found: DecisionWithRequest, now: string): Promise<Transition> => {
    const { decision } = found
    const isKin = await assertMayReview(deps, caller, decision)
    if (deps.agents.isSuspended(decision.agent_id)) throw new DomainError('agent_suspended')
    if (!mayMove('decision.approved', decision, now)) throw invalidTransition(decision, now, 'approved')
    const evaluated = evaluateAgain(deps, found, now, requestId)
    const { policy_id, policy_revision, rule } = evaluated.evaluation
    const review: Review = {
      ...(decision.review as Review),
      status: 'approved',
      decided_by: caller.key.id,
      decided_at: now,
      comment,
      self_approved: isKin,
      policy_id,
      policy_revision,
      rule,
    }
    endsAt = new Date(Date.parse(now) + deps.lifetimes.approvalSeconds * 1000).toISOString()
    const input = { id, version: decision.version, call: id, mayExceed: exceed_budget === true }
    const { violation, budgets, postings, accounts, reservation } = await reserveBudgets(deps, evaluated.budgets, input)
    if (violation !== null) {
      // A concurrent approval of this same decision may hold the room.
      if ((await deps.store.decisions.get(id))?.decision.version !== decision.version)
        throw new ConflictError('version')
      throw refused(applyBudgetViolation(evaluated.evaluation, violation))
    }
    return {
      type: 'decision.approved',
      changes: { status: 'approved', expires_at: endsAt, review, budgets, postings },
      ...(reservation !== null && { reservation }),
      data: { comment, self_approved: isKin, policy_id, policy_revision, rule, accounts },
    }
  }
  try {
    return await transitionDecision(deps, call, plan)
  } finally {
    // Also when the outcome of the approval is unknown: later reservations then check whether it has ended.
    if (endsAt !== null) deps.approvalEnds.note(endsAt)
  }
}

function refused({ reason, reason_code }: Evaluation): DomainError {
  const code = reason_code === 'budget_exceeded' ? 'budget_exceeded' : 'policy_denies'
  return new DomainError(code, { ...(reason !== null && { detail: reason }) })
}
