import { type AccountKey, type Budget, withBudgetDefaults } from '@countersign/contract'
import { type EnginePolicy, periodAt } from '@countersign/engine'
import type { AccountFilter } from '../../ports/store/accounts.js'

/** The current budget of a policy, with defaults filled in. */
export interface PolicyBudget {
  readonly policyId: string
  readonly budget: Budget
}

export function budgetOf({ id, budget }: EnginePolicy): PolicyBudget | null {
  return budget === undefined ? null : { policyId: id, budget: withBudgetDefaults(budget) }
}

/** Returns the account that all agents share in the period that contains `at`. */
export function presentAccount({ policyId, budget }: PolicyBudget, at: Date): AccountKey {
  return { policy_id: policyId, ...formOf(budget), agent_id: null, starts_at: periodAt(budget.period, at).starts_at }
}

/** Returns a filter for the accounts of single agents in the period that contains `at`. */
export function presentAgentAccounts({ policyId, budget }: PolicyBudget, at: Date): Omit<AccountFilter, 'agents'> {
  const { starts_at } = periodAt(budget.period, at)
  return { policy_id: policyId, ...formOf(budget), starts_at, scope: 'agent' }
}

/** Whether the policy's budget would charge this account at that time. */
export function isPresent(account: AccountKey, budget: Budget, at: Date): boolean {
  return isOfForm(account, budget) && account.starts_at === periodAt(budget.period, at).starts_at
}

/** Whether the budget opens accounts of this form; the period does not matter. */
export function isOfForm(account: AccountKey, budget: Budget): boolean {
  const { unit, period } = formOf(budget)
  return (
    account.unit === unit &&
    account.period === period &&
    (account.agent_id !== null) === (withBudgetDefaults(budget).scope === 'agent')
  )
}

function formOf({ unit, period }: Budget) {
  return { unit: unit.toLowerCase(), period }
}
