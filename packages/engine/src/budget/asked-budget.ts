import type { AccountKey, BudgetPeriod } from '@countersign/contract'
import type { Found } from '../indeterminate.js'

/** Why a budget is violated before its room is looked at. */
export type BudgetFault = 'budget_amount_invalid' | 'budget_unit_mismatch' | 'agent_not_registered'

/** A fact of the request that a budget needs, and that is not as it has to be. */
export interface BudgetNeed {
  /** Where the fact is read, for example `context.amount`. */
  readonly path: string
  /** What it has to be: `a number from 0 to 1000000000000`, `"EUR"`. */
  readonly needed: string
  readonly found: Found
}

/** A budget that a request has to pass. Amounts are whole numbers of 1e-6 units. */
export interface AskedBudget {
  readonly policy_id: string
  /** Null for a draft. */
  readonly policy_revision: number | null
  /** The rule that won in that policy. */
  readonly rule: number
  /** As the policy writes it. */
  readonly unit: string
  readonly period: BudgetPeriod
  /** Null for the period `total`. */
  readonly starts_at: string | null
  /** Null for the period `total`. */
  readonly resets_at: string | null
  readonly account: AccountKey
  readonly limit: bigint
  readonly on_exceed: 'deny' | 'review'
  /** Null when the request gives none that is valid. */
  readonly amount: bigint | null
  /** Whether the amount is read from the request; else each decision takes the same. */
  readonly reads_amount: boolean
  /** Null when only room is left to ask for. */
  readonly fault: BudgetFault | null
  /** The fact to fix; null unless the amount or the unit is at fault. */
  readonly need: BudgetNeed | null
}
