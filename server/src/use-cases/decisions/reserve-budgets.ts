import type { DecisionBudget } from '@countersign/contract'
import { type AskedBudget, type BudgetViolation, budgetRows, findBudgetViolation } from '@countersign/engine'
import type { Posting } from '@countersign/store-port/documents'
import type { Balance, Ledger } from '@countersign/store-port/ledger'
import { type ExpireDeps, expireApprovals } from './transitions/expire.js'

export interface ReservedBudgets {
  /** Null when every budget had room, or none was asked. */
  readonly violation: BudgetViolation | null
  readonly budgets: readonly DecisionBudget[]
  readonly postings: readonly Posting[]
  /** To be named by the record that makes it stand. */
  readonly reservation: string | null
}

const NOTHING_ASKED: ReservedBudgets = { violation: null, budgets: [], postings: [], reservation: null }

/** Which decision reserves, and whether its reviewer lets it exceed budgets that say `on_exceed: review`. */
interface Asker {
  readonly id: string
  /** Names the call: copies of it that are on their way are not in its way. */
  readonly call: string
  readonly version: number
  readonly exceed: boolean
}

/**
 * Reserves in all the budgets asked, or in none when one refuses.
 *
 * @throws CallInProgressError, StoreUnavailableError
 */
export async function reserveBudgets(
  deps: ExpireDeps,
  asked: readonly AskedBudget[],
  asker: Asker,
): Promise<ReservedBudgets> {
  if (asked.length === 0) return NOTHING_ASKED
  await expireApprovals(deps)
  const { ledger } = deps.store
  const isLimited = (budget: AskedBudget): boolean => !(asker.exceed && budget.on_exceed === 'review')
  for (;;) {
    const { reservation, balances } = await take(ledger, asked, asker, isLimited)
    if (reservation !== null)
      return {
        violation: null,
        budgets: budgetRows(asked, balances, true),
        postings: asked.map(postingOf),
        reservation,
      }
    const pairs = asked.map((budget, i) => ({ budget, balance: balances[i] as Balance }))
    const asking = pairs.filter(({ budget }) => budget.fault !== null || isLimited(budget))
    const violation = findBudgetViolation(
      asking.map(({ budget }) => budget),
      asking.map(({ balance }) => balance),
    )
    if (violation !== null)
      return { violation, budgets: budgetRows(asked, balances, false), postings: [], reservation: null }
    // There was no room, and by what the ledger says now there is: somebody gave some back meanwhile.
  }
}

async function take(
  ledger: Ledger,
  asked: readonly AskedBudget[],
  { id, version, call }: Asker,
  isLimited: (budget: AskedBudget) => boolean,
): Promise<{ readonly reservation: string | null; readonly balances: readonly Balance[] }> {
  if (asked.some(({ fault }) => fault !== null))
    return { reservation: null, balances: await ledger.balances(asked.map(({ account }) => account)) }
  const demands = asked.map((budget) => ({
    account: budget.account,
    amount: budget.amount as bigint,
    limit: isLimited(budget) ? budget.limit : null,
  }))
  return ledger.reserve({ decision_id: id, version, demands, call })
}

function postingOf({ account, amount, reads_amount }: AskedBudget): Posting {
  return { account, amount: String(amount), reads_amount, spent: '0', reserved: String(amount) }
}
