import type { AskedBudget, BudgetFault } from './asked-budget.js'

/** What an account has taken, in whole numbers of 1e-6 units. */
export interface Balance {
  readonly spent: bigint
  readonly reserved: bigint
}

/** The budget that keeps a request from being allowed. */
export interface BudgetRefusal {
  readonly effect: 'deny' | 'review'
  readonly reason_code: BudgetFault | 'budget_exceeded'
  readonly budget: AskedBudget
  /** Of its account, before the request. */
  readonly balance: Balance
}

/**
 * What the budgets say together: null when there is room in all of them, else the first that denies, else the first that
 * asks for review. `balances` are those of the accounts as they stand before, one for each budget.
 *
 * Source: docs/budgets.md "When a budget refuses".
 */
export function judgeBudgets(asked: readonly AskedBudget[], balances: readonly Balance[]): BudgetRefusal | null {
  let review: BudgetRefusal | null = null
  for (const [at, budget] of asked.entries()) {
    const refusal = judgeBudget(budget, balances[at] as Balance)
    if (refusal?.effect === 'deny') return refusal
    review ??= refusal
  }
  return review
}

function judgeBudget(budget: AskedBudget, balance: Balance): BudgetRefusal | null {
  const { fault, amount } = budget
  if (fault !== null) return { effect: 'deny', reason_code: fault, budget, balance }
  if (amount !== null && usedOf(balance) + amount <= budget.limit) return null
  return { effect: budget.on_exceed, reason_code: 'budget_exceeded', budget, balance }
}

/** What is neither spent nor reserved; 0 when more is used than the limit. */
export function leftOf({ limit }: Pick<AskedBudget, 'limit'>, balance: Balance): bigint {
  const left = limit - usedOf(balance)
  return left > 0n ? left : 0n
}

export function usedOf({ spent, reserved }: Balance): bigint {
  return spent + reserved
}
