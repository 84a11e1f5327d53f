import { DomainError } from '../../../domain-error.js'
import type { Clock } from '../../../ports/clock.js'
import type { DecisionWithRequest } from '../../../ports/store/decisions.js'
import type { Agents } from '../../../state/agents.js'
import type { Policies } from '../../../state/policies.js'
import { type EvaluateDeps, type Evaluated, evaluateSafely } from '../evaluate-safely.js'
import { factsOf } from '../facts.js'
import { requestErased } from '../status.js'

export interface EvaluateAgainDeps extends EvaluateDeps {
  readonly clock: Clock
  readonly policies: Policies
  readonly agents: Agents
}

/**
 * Evaluates an earlier request with the current policies, clock and agent metadata.
 *
 * @throws DomainError invalid_transition when the request was erased; policy_denies, whatever the reason
 */
export function evaluateAgain(
  deps: EvaluateAgainDeps,
  { decision, request: held }: DecisionWithRequest,
  now: string,
  requestId: string,
): Evaluated {
  if (decision.request_erased_at !== undefined) throw requestErased(decision, now)
  const { agent_id, action, resource } = decision
  const request = { agent_id, action, resource, context: held.context }
  const facts = factsOf(deps.agents.find(agent_id), new Date(now))
  const evaluated = evaluateSafely(deps, requestId, deps.policies.set, request, facts, 'approval')
  const { effect, reason } = evaluated.evaluation
  if (effect === 'deny') throw new DomainError('policy_denies', { ...(reason !== null && { detail: reason }) })
  return evaluated
}
