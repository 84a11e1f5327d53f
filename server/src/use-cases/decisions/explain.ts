import type { ReasonCode } from '@countersign/contract'
import { compileInParts, type Explanation, explainInParts } from '@countersign/engine'
import { type Caller, hasScope } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { StoredDecision } from '../../ports/store/documents.js'
import type { Store } from '../../ports/store/store.js'
import { toEnginePolicy } from '../../state/policies.js'
import { inParts } from '../in-parts.js'
import { findVisible } from './get.js'

export interface ExplainDecisionDeps {
  readonly store: Pick<Store, 'decisions' | 'agents' | 'policies'>
  readonly maxEvaluationSteps: number
}

/**
 * Explains a decision with the facts of its time: its policy set, its clock, its agent's metadata (hidden from a caller
 * without agents:read), and whether its evaluation finished within the step limit.
 *
 * @param pause awaited between the parts of the work
 * @throws DomainError not_found, also when the request was erased
 */
export async function explainDecision(
  deps: ExplainDecisionDeps,
  caller: Caller,
  id: string,
  pause: () => Promise<void>,
): Promise<Explanation & { readonly decision_id: string }> {
  const { decision, request } = await findVisible(deps.store, caller, id)
  if (decision.request_erased_at !== undefined)
    throw new DomainError('not_found', {
      detail: 'The request of this decision was erased, so the decision can no longer be explained.',
    })
  const policies = await deps.store.policies.loadSet(decision.policy_set)
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
      metadata: await metadataAtDecision(deps, decision),
    },
    { hidesMetadata: !hasScope(caller, 'agents:read'), maxSteps: deps.maxEvaluationSteps, ...endOf(decision) },
  )
  return { decision_id: decision.id, ...(await inParts(parts, pause)), ...overruled(decision) }
}

/** The limit may have been different then, or on the replica that decided. An internal error has no end. */
function endOf({ reason_code, policy_id, rule }: StoredDecision) {
  if (reason_code === 'evaluation_error') return {}
  return { ended: reason_code === 'evaluation_limit' ? { policy_id, rule } : ('within_limit' as const) }
}

async function metadataAtDecision(deps: ExplainDecisionDeps, decision: StoredDecision) {
  if (decision.agent_revision === null) return null
  const registration = await deps.store.agents.getMetadata(decision.agent_id, decision.agent_revision)
  return registration?.metadata ?? null
}

/** Reasons that come from outside the rules: internal errors, too many reviews, and budgets. */
const OVERRULING: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'evaluation_error',
  'too_many_reviews',
  'agent_not_registered',
  'budget_amount_invalid',
  'budget_unit_mismatch',
  'budget_exceeded',
])

/** When the rules did not make the decision, its own effect and reason are the explanation. */
export function overruled(decision: Pick<StoredDecision, 'effect' | 'reason' | 'reason_code'>): Partial<Explanation> {
  const { effect, reason, reason_code } = decision
  if (!OVERRULING.has(reason_code)) return {}
  return { effect, summary: `${effect === 'review' ? 'Sent to review' : 'Denied'}: ${reason}`, nearest_miss: null }
}
