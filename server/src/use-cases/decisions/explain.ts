import type { ReasonCode } from '@countersign/contract'
import { compileInParts, type Explanation, explainInParts } from '@countersign/engine'
import type { StoredDecision } from '@countersign/store-port/documents'
import type { Store } from '@countersign/store-port/store'
import { type Caller, hasScope } from '../../caller.js'
import { toEnginePolicy } from '../../state/policies.js'
import { inParts } from '../in-parts.js'
import { findVisible } from './get.js'

export interface ExplainDecisionDeps {
  readonly store: Pick<Store, 'findDecision' | 'findAgentMetadata' | 'loadPoliciesOfSet'>
  readonly maxEvaluationSteps: number
}

/**
 * Why a decision came out as it did, from what held then: its policy set, its clock, its agent's metadata (which a caller
 * without agents:read is not shown), and whether its evaluation came to an end within the limit.
 *
 * @param pause awaited between the parts of it
 * @throws DomainError not_found
 */
export async function explainDecision(
  deps: ExplainDecisionDeps,
  caller: Caller,
  id: string,
  pause: () => Promise<void>,
): Promise<Explanation & { readonly decision_id: string }> {
  const { decision, request } = await findVisible(deps.store, caller, id)
  const policies = await deps.store.loadPoliciesOfSet(decision.policy_set)
  const parts = explainInParts(
    await inParts(compileInParts(policies.map(toEnginePolicy)), pause),
    {
      agent_id: decision.agent_id,
      action: decision.action,
      resource: decision.resource,
      context: request.context,
    },
    {
      now: new Date(decision.evaluated_at),
      suspended: decision.reason_code === 'agent_suspended',
      metadata: await metadataThen(deps, decision),
    },
    { hidesMetadata: !hasScope(caller, 'agents:read'), maxSteps: deps.maxEvaluationSteps, ...endOf(decision) },
  )
  return { decision_id: decision.id, ...(await inParts(parts, pause)), ...overruled(decision) }
}

/** The limit may have been another one then, or be another one at the replica that decided. A fault of ours has no end. */
function endOf({ reason_code, policy_id, rule }: StoredDecision) {
  if (reason_code === 'evaluation_error') return {}
  return { ended: reason_code === 'evaluation_limit' ? { policy_id, rule } : ('within_limit' as const) }
}

async function metadataThen(deps: ExplainDecisionDeps, decision: StoredDecision) {
  if (decision.agent_revision === null) return null
  const registration = await deps.store.findAgentMetadata(decision.agent_id, decision.agent_revision)
  return registration?.metadata ?? null
}

/** What is decided beside the rules: faults of ours, too many reviews, and budgets. */
const OVERRULING: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'evaluation_error',
  'too_many_reviews',
  'agent_not_registered',
  'budget_amount_invalid',
  'budget_unit_mismatch',
  'budget_exceeded',
])

/** What the rules did not decide: the decision's own effect and reason are the explanation, whatever the rules said. */
export function overruled(decision: Pick<StoredDecision, 'effect' | 'reason' | 'reason_code'>): Partial<Explanation> {
  const { effect, reason, reason_code } = decision
  if (!OVERRULING.has(reason_code)) return {}
  return { effect, summary: `${effect === 'review' ? 'Sent to review' : 'Denied'}: ${reason}`, nearest_miss: null }
}
