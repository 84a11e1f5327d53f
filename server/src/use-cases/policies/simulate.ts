import type { DecisionRequest, SimulatedPolicy, SimulateResponse } from '@countersign/contract'
import { compilePolicies, type EnginePolicy, explain } from '@countersign/engine'
import { assertMaySpeakFor, type Caller } from '../../caller.js'
import { invalid } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { Agents } from '../../state/agents.js'
import type { Policies } from '../../state/policies.js'
import { type EvaluateDeps, evaluateSafely } from '../decisions/evaluate-safely.js'
import { overruled } from '../decisions/explain.js'
import { factsOf, toEngineRequest } from '../decisions/facts.js'
import { unsupportedMembers } from './unsupported.js'

export interface SimulateDeps extends EvaluateDeps {
  readonly clock: Clock
  readonly policies: Policies
  readonly agents: Agents
}

/**
 * What a request would be answered, by the stored policies or by the ones given instead. Nothing is stored.
 *
 * @throws DomainError agent_not_allowed, validation_failed
 */
export function simulate(
  deps: SimulateDeps,
  caller: Caller,
  request: DecisionRequest,
  drafts: readonly SimulatedPolicy[] | undefined,
  requestId: string,
): SimulateResponse {
  const errors = (drafts ?? []).flatMap((draft, index) => unsupportedMembers(draft, `/policies/${index}`))
  if (errors.length > 0) throw invalid(errors)
  assertMaySpeakFor(caller, request.agent_id)
  const set = drafts === undefined ? deps.policies.set : compilePolicies(drafts.map(toDraft))
  const asked = toEngineRequest(request)
  const facts = factsOf(deps.agents.find(request.agent_id), deps.clock.now())
  const { effect, reason, reason_code, policy_id, rule, shadow } = evaluateSafely(deps, requestId, set, asked, facts)
  return {
    effect,
    reason,
    reason_code,
    policy_id,
    rule,
    budgets: [],
    shadow: [...shadow],
    explanation: { ...explain(set, asked, facts), ...overruled({ effect, reason, reason_code }) },
  } as SimulateResponse
}

function toDraft({ id, ...document }: SimulatedPolicy, index: number): EnginePolicy {
  return { ...document, id: id ?? `pol_draft_${index}`, revision: null }
}
