import type { AccountKey, BudgetPeriod } from '@countersign/contract'
import type { StoredAccount } from './documents.js'
import type { Page, PageRequest } from './page.js'

/** Selects the accounts that match all given members. */
export interface AccountFilter {
  readonly policy_id?: string
  /** In lower case. */
  readonly unit?: string
  readonly period?: BudgetPeriod
  /** Null for accounts without a start (`total`). */
  readonly starts_at?: string | null
  /** Accounts of single agents, or those that all agents share. */
  readonly scope?: 'policy' | 'agent'
  /** Only accounts with a reserved amount. */
  readonly is_reserved?: true
  /** Patterns, as in DecisionFilter; accounts that all agents share always match. */
  readonly agents: readonly string[] | null
}

/** Names an account by one text. */
export function accountText({ policy_id, unit, period, agent_id, starts_at }: AccountKey): string {
  return JSON.stringify([policy_id, unit, period, agent_id, starts_at])
}

/** The accounts of budgets, which `commit` changes. */
export interface AccountStore {
  /** Returns the durable balances in the order of the keys; zeros for an unused account. */
  get(keys: readonly AccountKey[]): Promise<readonly StoredAccount[]>
  /** Lists the accounts that a decision has counted in, last opened first. */
  list(filter: AccountFilter, page: PageRequest): Promise<Page<StoredAccount>>
}
