import { reviewerWords } from '@countersign/client/text'
import {
  type Decision,
  type DecisionBudget,
  type DecisionDetail,
  type EventDecision,
  LIMITS,
} from '@countersign/contract'
import { adviseOnStatus } from '@countersign/engine'
import { type Caller, hasScope } from '../../caller.js'
import type { DecisionWithRequest } from '../../ports/store/decisions.js'
import type { StoredDecision } from '../../ports/store/documents.js'
import { presentStatus, wasAuthorized } from './status.js'

/** A decision as its caller may see it now, with the given permit. */
export function viewDecision(decision: StoredDecision, caller: Caller, now: string, permit?: string): Decision {
  const status = presentStatus(decision, now)
  const review =
    decision.review !== null && status === 'expired' && !wasAuthorized(decision)
      ? { ...decision.review, status: 'expired' as const }
      : decision.review
  return {
    ...shownOf(decision, status, review),
    ...(hasScope(caller, 'policies:read') && { shadow: [...decision.shadow] }),
    ...(permit !== undefined && { permit_token: permit }),
  }
}

/** A decision as webhooks show it, in the given state. */
export function viewEventDecision(decision: StoredDecision): EventDecision {
  const { status, review, shadow } = decision
  return { ...shownOf(decision, status, review), shadow: [...shadow], ...askedOf(decision), ...bounded(decision) }
}

/**
 * Bounds the number of budgets in an event: a decision asks every policy whose budget matches, and each reader gets
 * each event. The budgets of the policy that decided are always among them.
 */
function bounded({ budgets, shadow, policy_id }: StoredDecision): Partial<EventDecision> {
  const isOfDecider = ({ policy_id: id }: DecisionBudget) => id === policy_id
  const shown = [...budgets.filter(isOfDecider), ...budgets.filter((budget) => !isOfDecider(budget))]
  const budgetsOmitted = budgets.length - LIMITS.eventBudgets
  const shadowOmitted = shadow.length - LIMITS.eventShadow
  return {
    ...(budgetsOmitted > 0 && { budgets: shown.slice(0, LIMITS.eventBudgets), budgets_omitted: budgetsOmitted }),
    ...(shadowOmitted > 0 && { shadow: shadow.slice(0, LIMITS.eventShadow), shadow_omitted: shadowOmitted }),
  }
}

/** A decision as live events show it: their readers may lack the right to read policies. */
export function withoutShadow({ shadow: _, shadow_omitted: __, ...decision }: EventDecision): EventDecision {
  return decision
}

function shownOf(decision: StoredDecision, status: StoredDecision['status'], review: StoredDecision['review']) {
  return {
    id: decision.id,
    effect: decision.effect,
    status,
    reason: decision.reason,
    reason_code: decision.reason_code,
    policy_id: decision.policy_id,
    policy_revision: decision.policy_revision,
    policy_set: decision.policy_set,
    rule: decision.rule,
    agent_id: decision.agent_id,
    action: decision.action,
    resource: decision.resource,
    latency_ms: decision.latency_ms,
    evaluated_at: decision.evaluated_at,
    expires_at: decision.expires_at,
    trace_id: decision.trace_id ?? null,
    budgets: [...decision.budgets],
    review,
    outcome: decision.outcome,
    advice: adviseOnStatus({ status, review, advice: decision.advice, words: reviewerWords(review?.comment) }),
  }
}

function askedOf({ request_hash, request_erased_at, key_id, request_id }: StoredDecision) {
  return { request_hash, ...(request_erased_at !== undefined && { request_erased_at }), key_id, request_id }
}

/** Like {@link viewDecision}, with the request. */
export function viewDecisionDetail(found: DecisionWithRequest, caller: Caller, now: string): DecisionDetail {
  return {
    ...viewDecision(found.decision, caller, now),
    context: found.request.context,
    ...askedOf(found.decision),
  }
}
