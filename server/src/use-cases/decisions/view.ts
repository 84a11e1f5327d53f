import type { Decision, DecisionDetail, EventDecision } from '@countersign/contract'
import type { StoredDecision } from '@countersign/store-port/documents'
import type { DecisionWithRequest } from '@countersign/store-port/store'
import { type Caller, hasScope } from '../../caller.js'
import { presentStatus, wasAuthorized } from './status.js'

/** A decision as its caller may see it now, with the permit that is given. */
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

/** A decision as webhooks show it, in the state that it is given in. */
export function viewEventDecision(decision: StoredDecision): EventDecision {
  const { status, review, shadow } = decision
  return { ...shownOf(decision, status, review), shadow: [...shadow], ...askedOf(decision) }
}

/** As live events show it: whoever reads them need not be allowed to read policies. */
export function withoutShadow({ shadow: _, ...decision }: EventDecision): EventDecision {
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
    budgets: [...decision.budgets],
    review,
    outcome: decision.outcome,
    advice: decision.advice,
  }
}

function askedOf({ request_hash, request_erased_at, key_id, request_id }: StoredDecision) {
  return { request_hash, ...(request_erased_at !== undefined && { request_erased_at }), key_id, request_id }
}

/** The same with the request, for reading later. */
export function viewDecisionDetail(found: DecisionWithRequest, caller: Caller, now: string): DecisionDetail {
  return {
    ...viewDecision(found.decision, caller, now),
    context: found.request.context,
    ...askedOf(found.decision),
  }
}
