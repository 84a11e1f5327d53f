import type { BudgetAccount, Page } from '@countersign/contract'
import { call } from './client'
import { everyPage } from './every-page'
import { sumOf } from './exact-sum'

const LIMIT = 200
/** The most accounts that a page reads: one policy can have an account for each of many agents. */
export const MOST_ACCOUNTS = 2_000

const listBudgets = (cursor?: string, signal?: AbortSignal): Promise<Page<BudgetAccount>> =>
  call('budgets.list', { query: { limit: LIMIT, cursor }, signal })

export const allBudgets = (signal?: AbortSignal) => everyPage((cursor) => listBudgets(cursor, signal), MOST_ACCOUNTS)

/** Reads the past accounts of a policy, newest first. */
export const budgetHistory = (policyId: string, signal?: AbortSignal) =>
  everyPage((cursor) => {
    const params = { id: policyId }
    return call('policies.budget_history', { params, query: { limit: LIMIT, cursor }, signal })
  }, MOST_ACCOUNTS)

/** The share of the limit that is spent or reserved: 1 is all of it. */
export function usedShare({ spent, reserved, limit }: Pick<BudgetAccount, 'spent' | 'reserved' | 'limit'>): number {
  return limit === 0 ? 1 : sumOf(spent, reserved) / limit
}

/** The same share in whole percent. It is 100 only when nothing is left. */
export function usedPercent(account: Pick<BudgetAccount, 'spent' | 'reserved' | 'limit'>): number {
  // Rounding first: a binary fraction just below 29 % would become 28.
  return Math.floor(Number((100 * usedShare(account)).toFixed(6)))
}

/** A key that is unique among accounts. The case of a unit is ignored. */
export function keyOf({ policy_id, unit, period, agent_id, starts_at }: BudgetAccount): string {
  return JSON.stringify([policy_id, unit.toLowerCase(), period, agent_id, starts_at])
}
