import type { BudgetAccount, Page } from '@countersign/contract'
import { get } from './client'
import { everyPage } from './every-page'
import { sumOf } from './exact-sum'

const LIMIT = 200
/** So many accounts are read at most: one policy can have one for each of any number of agents. */
export const MOST_ACCOUNTS = 2_000

const listBudgets = (cursor?: string, signal?: AbortSignal): Promise<Page<BudgetAccount>> =>
  get('/budgets', { query: { limit: LIMIT, cursor }, ...(signal && { signal }) })

export const allBudgets = (signal?: AbortSignal) => everyPage((cursor) => listBudgets(cursor, signal), MOST_ACCOUNTS)

/** The past accounts of a policy, the last opened first. */
export const budgetHistory = (policyId: string, signal?: AbortSignal) =>
  everyPage<BudgetAccount>(
    (cursor) =>
      get(`/policies/${encodeURIComponent(policyId)}/budget/history`, {
        query: { limit: LIMIT, cursor },
        ...(signal && { signal }),
      }),
    MOST_ACCOUNTS,
  )

/** How much of the limit is spent or reserved: 1 is all of it. */
export function usedShare({ spent, reserved, limit }: Pick<BudgetAccount, 'spent' | 'reserved' | 'limit'>): number {
  return limit === 0 ? 1 : sumOf(spent, reserved) / limit
}

/** The same in whole percent, and 100 only when nothing is left. */
export function usedPercent(account: Pick<BudgetAccount, 'spent' | 'reserved' | 'limit'>): number {
  // Without the dust of binary fractions, which would make 28 of 29 %.
  return Math.floor(Number((100 * usedShare(account)).toFixed(6)))
}

/** Unique among accounts. The case of a unit does not count. */
export function keyOf({ policy_id, unit, period, agent_id, starts_at }: BudgetAccount): string {
  return JSON.stringify([policy_id, unit.toLowerCase(), period, agent_id, starts_at])
}
