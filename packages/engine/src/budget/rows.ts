import { type DecisionBudget, fromMicro } from '@countersign/contract'
import type { AskedBudget } from './asked-budget.js'
import { type Balance, leftOf, usedOf } from './violation.js'

/**
 * Returns the rows that a decision shows for the budgets that it asked. `balances` are those of the accounts right
 * after; `reserved` says whether the decision took its amounts.
 */
export function budgetRows(
  asked: readonly AskedBudget[],
  balances: readonly Balance[],
  reserved: boolean,
): DecisionBudget[] {
  return asked.map((budget, at) => {
    const balance = balances[at] as Balance
    return {
      policy_id: budget.policy_id,
      unit: budget.unit,
      amount: budget.amount === null ? null : fromMicro(budget.amount),
      period: budget.period,
      starts_at: budget.starts_at,
      resets_at: budget.resets_at,
      remaining: fromMicro(leftOf(budget, balance)),
      over_limit: usedOf(balance) > budget.limit,
      reserved,
    }
  })
}
