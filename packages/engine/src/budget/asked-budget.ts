import type { AccountKey, BudgetPeriod } from '@countersign/contract'
import type { Found } from '../indeterminate.js'

/**
 * The reason why a budget is violated before its room is checked. `budget_exceeded`: no approval could take this
 * amount.
 */
export type BudgetFault = 'budget_amount_invalid' | 'budget_unit_mismatch' | 'agent_not_registered' | 'budget_exceeded'

/** A fact of the request that a budget needs, and that is missing or wrong. */
export interface BudgetNeed {
  /** Where the fact is read, for example `context.amount`. */
  readonly path: string
  /** The required value: `a number from 0 to 1000000000000`, `"EUR"`. */
  readonly needed: string
  readonly found: Found
}

/** A budget that a request must pass. Amounts are whole numbers of 1e-6 units. */
export interface AskedBudget {
  readonly policy_id: string
  /** Null for a draft. */
  readonly policy_revision: number | null
  /** The index of the rule that won in that policy. */
  readonly rule: number
  /** In the spelling of the policy. */
  readonly unit: string
  readonly period: BudgetPeriod
  /** Null for the period `total`. */
  readonly starts_at: string | null
  /** Null for the period `total`. */
  readonly resets_at: string | null
  readonly account: AccountKey
  readonly limit: bigint
  readonly on_exceed: 'deny' | 'review'
  /** Null when the request has no valid amount. */
  readonly amount: bigint | null
  /** Whether the amount comes from the request; otherwise each decision takes the same amount. */
  readonly reads_amount: boolean
  /** Null when only the room remains to be checked. */
  readonly fault: BudgetFault | null
  /** The fact to fix; null unless the amount or the unit is at fault. */
  readonly need: BudgetNeed | null
}
