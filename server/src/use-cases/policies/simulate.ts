import type { DecisionRequest, SimulatedPolicy, SimulateResponse } from '@countersign/contract'
import {
  type AskedBudget,
  applyBudgetViolation,
  budgetRows,
  compileInParts,
  type EnginePolicy,
  explainInParts,
  findBudgetViolation,
  reasonWithout,
} from '@countersign/engine'
import { assertMaySpeakFor, type Caller, hasScope } from '../../caller.js'
import type { Clock } from '../../ports/clock.js'
import type { Store } from '../../ports/store/store.js'
import type { Agents } from '../../state/agents.js'
import type { Policies } from '../../state/policies.js'
import { type EvaluateDeps, evaluateSafely } from '../decisions/evaluate-safely.js'
import { overruled } from '../decisions/explain.js'
import { factsOf, toEngineRequest } from '../decisions/facts.js'
import type { ReservedBudgets } from '../decisions/reserve-budgets.js'
import { inParts } from '../in-parts.js'

export interface SimulateDeps extends EvaluateDeps {
  readonly clock: Clock
  readonly policies: Policies
  readonly agents: Agents
  readonly store: Pick<Store, 'ledger'>
}

/**
 * Returns the answer that a request would get from the stored policies, or from the ones given instead. Stores nothing
 * and only reads balances: those of the accounts that the policies' ids name, which are unused for a draft without an
 * id. An expired approval without a claim may still hold room for a second. A caller without agents:read sees no
 * metadata, one without budgets:read sees no balances; the simulated decision depends on both all the same.
 *
 * @param pause awaited between the parts of the explanation
 * @throws DomainError agent_not_allowed
 * @throws StoreUnavailableError
 */
export async function simulate(
  deps: SimulateDeps,
  caller: Caller,
  request: DecisionRequest,
  drafts: readonly SimulatedPolicy[] | undefined,
  requestId: string,
  pause: () => Promise<void>,
): Promise<SimulateResponse> {
  assertMaySpeakFor(caller, request.agent_id)
  const set = drafts === undefined ? deps.policies.set : await inParts(compileInParts(drafts.map(toDraft)), pause)
  const facts = factsOf(deps.agents.find(request.agent_id), deps.clock.now())
  const asked = toEngineRequest(request)
  const evaluated = evaluateSafely(deps, requestId, set, asked, facts)
  const { violation, budgets } = await tryBudgets(deps, evaluated.budgets)
  const evaluation = violation === null ? evaluated.evaluation : applyBudgetViolation(evaluated.evaluation, violation)
  const hidden = { metadata: !hasScope(caller, 'agents:read'), balances: !hasScope(caller, 'budgets:read') }
  const { effect, reason_code, policy_id, rule, shadow } = evaluation
  const reason = reasonWithout(hidden, evaluation)
  const options = { hidesMetadata: hidden.metadata, maxSteps: deps.maxEvaluationSteps }
  const explanation = await inParts(explainInParts(set, asked, facts, options), pause)
  return {
    effect,
    reason,
    reason_code,
    policy_id,
    rule,
    budgets: hidden.balances ? [] : [...budgets],
    shadow: [...shadow],
    explanation: { ...explanation, ...overruled({ effect, reason, reason_code }) },
  } as SimulateResponse
}

function toDraft({ id, ...document }: SimulatedPolicy, index: number): EnginePolicy {
  return { ...document, id: id ?? `pol_draft_${index}`, revision: null }
}

/** Computes what the budgets would answer and their balances right after, without taking anything. */
async function tryBudgets(
  deps: SimulateDeps,
  asked: readonly AskedBudget[],
): Promise<Pick<ReservedBudgets, 'violation' | 'budgets'>> {
  if (asked.length === 0) return { violation: null, budgets: [] }
  const balances = await deps.store.ledger.balances(asked.map(({ account }) => account))
  const violation = findBudgetViolation(asked, balances)
  if (violation !== null) return { violation, budgets: budgetRows(asked, balances, false) }
  const after = asked.map(({ amount }, i) => {
    const { spent = 0n, reserved = 0n } = balances[i] ?? {}
    return { spent, reserved: reserved + (amount ?? 0n) }
  })
  return { violation: null, budgets: budgetRows(asked, after, true) }
}
