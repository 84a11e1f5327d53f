import { compilePolicies, type Explanation, explain } from '@countersign/engine'
import type { Caller } from '../../caller.js'
import type { StoredDecision } from '../../ports/documents.js'
import type { Store } from '../../ports/store.js'
import { toEnginePolicy } from '../../state/policies.js'
import { findVisible } from './get.js'

export interface ExplainDecisionDeps {
  readonly store: Pick<Store, 'findDecision' | 'findAgentMetadata' | 'loadPoliciesOfSet'>
}

/**
 * Why a decision came out as it did, from what held then: its policy set, its clock, its agent's metadata.
 *
 * @throws DomainError not_found
 */
export async function explainDecision(
  deps: ExplainDecisionDeps,
  caller: Caller,
  id: string,
): Promise<Explanation & { readonly decision_id: string }> {
  const { decision, request } = await findVisible(deps.store, caller, id)
  const policies = await deps.store.loadPoliciesOfSet(decision.policy_set)
  const explanation = explain(
    compilePolicies(policies.map(toEnginePolicy)),
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
  )
  return { decision_id: decision.id, ...explanation, ...overruled(decision) }
}

async function metadataThen(deps: ExplainDecisionDeps, decision: StoredDecision) {
  if (decision.agent_revision === null) return null
  const registration = await deps.store.findAgentMetadata(decision.agent_id, decision.agent_revision)
  return registration?.metadata ?? null
}

/** What no policy decided: the decision's own reason is the explanation. */
export function overruled(decision: Pick<StoredDecision, 'effect' | 'reason' | 'reason_code'>): Partial<Explanation> {
  if (decision.reason_code !== 'too_many_reviews' && decision.reason_code !== 'evaluation_error') return {}
  return { effect: decision.effect, summary: `Denied: ${decision.reason}`, nearest_miss: null }
}
