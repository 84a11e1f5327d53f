import type { Balance, EngineRequest, Evaluation, PolicySet } from '@countersign/engine'
import type { BudgetAnswer } from './naive-budgets.js'
import type { BudgetPair } from './random-budget.js'

type Engine = typeof import('@countersign/engine')

/** What an engine, perhaps a mutant, makes of a request and of the budgets that it has to pass. */
export function decideWithBudgets(
  engine: Engine,
  set: PolicySet,
  { request, facts, phase, balances: known }: BudgetPair,
): BudgetAnswer {
  const evaluation = engine.evaluate(set, request, facts)
  const asked = engine.askBudgets(evaluation, request, facts, phase)
  const before = asked.map((_, at) => known[at] as Balance)
  const after = before.map(({ spent, reserved }, at) => ({ spent, reserved: reserved + (asked[at]?.amount ?? 0n) }))
  const violation = engine.findBudgetViolation(asked, before)
  const decided = violation === null ? evaluation : engine.applyBudgetViolation(evaluation, violation)
  const { effect, reason_code, policy_id, rule } = decided
  return {
    effect,
    reason_code,
    policy_id,
    rule,
    budgets: engine.budgetRows(asked, violation === null ? after : before, violation === null),
    accounts: asked.map(({ account }) => account),
    advice: violation === null ? null : adviceOn(engine, decided, request),
  }
}

/** What a program reads of it. */
function adviceOn(engine: Engine, decided: Evaluation, request: EngineRequest): BudgetAnswer['advice'] {
  const advice = engine.adviseOn(decided, request, 'dec_1')
  if (advice === null) return null
  const { message, ...rest } = advice
  return rest
}
