import { type DecisionBudget, fromMicro, type JsonArray } from '@countersign/contract'
import { type AskedBudget, type BudgetViolation, budgetRows, findBudgetViolation } from '@countersign/engine'
import type { Posting } from '../../ports/store/documents.js'
import type { Balance, Ledger } from '../../ports/store/ledger.js'
import { type ExpireDeps, expireApprovals } from './transitions/expire.js'

export interface ReservedBudgets {
  /** Null when every budget had room, or when there is no budget. */
  readonly violation: BudgetViolation | null
  readonly budgets: readonly DecisionBudget[]
  readonly postings: readonly Posting[]
  /** The accounts, for the audit log. */
  readonly accounts: JsonArray
  /** The mutation that commits the reservation must name it. */
  readonly reservation: string | null
}

const NO_BUDGETS: ReservedBudgets = { violation: null, budgets: [], postings: [], accounts: [], reservation: null }

interface ReserveInput {
  /** The id of the decision that reserves. */
  readonly id: string
  readonly version: number
  /** Names the call, so that a copy of it in progress does not compete with it for room. */
  readonly call: string
  /** Whether the reviewer lets the decision exceed budgets with `on_exceed: review`. */
  readonly mayExceed: boolean
}

/**
 * Reserves in all budgets, or in none when one of them is violated.
 *
 * @throws CallInProgressError, StoreUnavailableError
 */
export async function reserveBudgets(
  deps: ExpireDeps,
  budgets: readonly AskedBudget[],
  input: ReserveInput,
): Promise<ReservedBudgets> {
  if (budgets.length === 0) return NO_BUDGETS
  await expireApprovals(deps)
  const { ledger } = deps.store
  const accounts = accountsOf(budgets)
  const isLimited = (budget: AskedBudget): boolean => !(input.mayExceed && budget.on_exceed === 'review')
  for (;;) {
    const { reservation, balances } = await tryToReserve(ledger, budgets, input, isLimited)
    if (reservation !== null)
      return {
        violation: null,
        budgets: budgetRows(budgets, balances, true),
        postings: budgets.map(postingOf),
        accounts,
        reservation,
      }
    const pairs = budgets.map((budget, i) => ({ budget, balance: balances[i] as Balance }))
    const checked = pairs.filter(({ budget }) => budget.fault !== null || isLimited(budget))
    const violation = findBudgetViolation(
      checked.map(({ budget }) => budget),
      checked.map(({ balance }) => balance),
    )
    if (violation !== null)
      return { violation, budgets: budgetRows(budgets, balances, false), postings: [], accounts, reservation: null }
    // The ledger had no room, but its balances show some: another call has released a reservation since. Try again.
  }
}

async function tryToReserve(
  ledger: Ledger,
  budgets: readonly AskedBudget[],
  { id, version, call }: ReserveInput,
  isLimited: (budget: AskedBudget) => boolean,
): Promise<{ readonly reservation: string | null; readonly balances: readonly Balance[] }> {
  if (budgets.some(({ fault }) => fault !== null))
    return { reservation: null, balances: await ledger.balances(budgets.map(({ account }) => account)) }
  const demands = budgets.map((budget) => ({
    account: budget.account,
    amount: budget.amount as bigint,
    limit: isLimited(budget) ? budget.limit : null,
  }))
  return ledger.reserve({ decision_id: id, version, demands, call })
}

/** Account details for the log that the decision does not show, in the order of the decision's budgets. */
function accountsOf(budgets: readonly AskedBudget[]): JsonArray {
  return budgets.map(({ account: { agent_id }, limit, reads_amount }) => ({
    agent_id,
    limit: fromMicro(limit),
    reads_amount,
  }))
}

function postingOf({ account, amount, reads_amount }: AskedBudget): Posting {
  return { account, amount: String(amount), reads_amount, spent: '0', reserved: String(amount) }
}
