import type { AskedBudget, BudgetFault } from './asked-budget.js'

/** The amounts that an account has taken, in whole numbers of 1e-6 units. */
export interface Balance {
  readonly spent: bigint
  readonly reserved: bigint
}

/** A budget that prevents an allow: it has no room, or the request lacks a fact that it needs. */
export interface BudgetViolation {
  readonly effect: 'deny' | 'review'
  readonly reason_code: BudgetFault
  readonly budget: AskedBudget
  /** The balance of its account before the request. */
  readonly balance: Balance
}

/**
 * Returns the violation that decides: the first one that denies, otherwise the first one that requires a review. Null
 * when every budget has room. `balances` has the balance of each budget's account before the request.
 *
 * Source: docs/budgets.md "When a budget is violated".
 */
export function findBudgetViolation(
  asked: readonly AskedBudget[],
  balances: readonly Balance[],
): BudgetViolation | null {
  let review: BudgetViolation | null = null
  for (const [at, budget] of asked.entries()) {
    const violation = violationOf(budget, balances[at] as Balance)
    if (violation?.effect === 'deny') return violation
    review ??= violation
  }
  return review
}

function violationOf(budget: AskedBudget, balance: Balance): BudgetViolation | null {
  const { fault, amount } = budget
  if (fault !== null) return { effect: 'deny', reason_code: fault, budget, balance }
  if (amount !== null && usedOf(balance) + amount <= budget.limit) return null
  return { effect: budget.on_exceed, reason_code: 'budget_exceeded', budget, balance }
}

/** Returns the amount that is neither spent nor reserved; 0 when more than the limit is used. */
export function leftOf({ limit }: Pick<AskedBudget, 'limit'>, balance: Balance): bigint {
  const left = limit - usedOf(balance)
  return left > 0n ? left : 0n
}

export function usedOf({ spent, reserved }: Balance): bigint {
  return spent + reserved
}
