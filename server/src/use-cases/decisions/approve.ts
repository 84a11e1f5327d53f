import type { Decision, Review } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { Keys } from '../../state/keys.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { type EvaluateAgainDeps, evaluateAgain } from './evaluate-again.js'
import type { ExpireDeps } from './expire.js'
import { moveDecision } from './move.js'
import type { Lifetimes } from './new-decision.js'
import { reserveBudgets } from './reserve-budgets.js'
import { judgeKinship } from './review-rights.js'
import { invalidTransition, presentStatus } from './status.js'
import { viewDecision } from './view.js'

export interface ApproveDeps extends ExpireDeps, EvaluateAgainDeps {
  readonly keys: Keys
  readonly lifetimes: Lifetimes
}

export interface ApproveInput {
  readonly comment: string | null
  readonly exceedBudget: boolean
  readonly requestId: string
}

/**
 * A person lets a reviewed action proceed, if the policies of now do not deny it and its budgets have room. It runs only
 * after a claim.
 *
 * @throws DomainError not_found, self_approval, agent_suspended, invalid_transition, policy_denies, budget_exceeded
 *
 * Source: docs/reviews.md
 */
export async function approveDecision(
  deps: ApproveDeps,
  caller: Caller,
  id: string,
  { comment, exceedBudget, requestId }: ApproveInput,
  idempotency: IdempotencyDraft | null,
): Promise<Decision> {
  const approved = await moveDecision(
    deps,
    caller,
    id,
    async (found, now) => {
      const { decision } = found
      const isKin = judgeKinship(deps.keys, caller, decision)
      if (deps.agents.isSuspended(decision.agent_id)) throw new DomainError('agent_suspended')
      if (presentStatus(decision, now) !== 'awaiting_review') throw invalidTransition(decision, now, 'approved')
      const { evaluation, asked } = evaluateAgain(deps, found, now, requestId)
      const asker = { id, version: decision.version, exceed: exceedBudget }
      const { refusal, budgets, postings, reservation } = await reserveBudgets(deps, asked, asker)
      if (refusal !== null)
        throw new DomainError(refusal.reason_code === 'budget_exceeded' ? 'budget_exceeded' : 'policy_denies')
      const expiresAt = new Date(Date.parse(now) + deps.lifetimes.approvalSeconds * 1000).toISOString()
      // Before the write: whatever becomes of it, whoever asks a budget after that moment looks whether it is over.
      deps.approvalEnds.note(expiresAt)
      const { policy_id, policy_revision, rule } = evaluation
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
      return {
        type: 'decision.approved',
        changes: { status: 'approved', expires_at: expiresAt, review, budgets, postings },
        ...(reservation !== null && { reservation }),
        data: { comment, self_approved: isKin, policy_id, policy_revision, rule, budgets, expires_at: expiresAt },
      }
    },
    idempotency,
  )
  return viewDecision(approved, caller, deps.clock.now().toISOString())
}
