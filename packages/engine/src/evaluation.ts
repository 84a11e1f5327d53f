import type { Effect, ReasonCode, Shadow } from '@countersign/contract'
import type { BudgetedRule } from './budget/compiled-budget.js'
import type { BudgetViolation } from './budget/violation.js'
import type { Indeterminate } from './indeterminate.js'

/** The policy id of a decision that no policy made. */
export const DEFAULT_POLICY_ID = 'pol_default'

/** The result of the policies for a request; includes budgets only after a violation. */
export interface Evaluation {
  readonly effect: Effect
  /** One sentence for a person; null on an allow. */
  readonly reason: string | null
  readonly reason_code: ReasonCode
  /** The policy that decided, or {@link DEFAULT_POLICY_ID}. */
  readonly policy_id: string
  /** Null when no stored policy decided. */
  readonly policy_revision: number | null
  /** The index of the rule that decided, from 0; null when none did. */
  readonly rule: number | null
  /** What policies in shadow mode would have decided, each alone, by policy id. */
  readonly shadow: Shadow[]
  /**
   * The policies that may have to reserve, by policy id: those with a budget at the deciding priority whose own winning
   * rule is allow or review. Empty for a deny or a log, and after a budget violation.
   */
  readonly budgeted: readonly BudgetedRule[]
  /** The fact that could not be compared; present only with the reason code `condition_indeterminate`. */
  readonly indeterminate?: Indeterminate
  /** Present only after `applyBudgetViolation`. */
  readonly violation?: BudgetViolation
}

const EFFECT_ORDER: Readonly<Record<Effect, number>> = { log: 0, allow: 1, review: 2, deny: 3 }

/** Returns more than 0 when the first effect is more restrictive; the order is deny, review, allow, log. */
export function compareRestriction(one: Effect, other: Effect): number {
  return EFFECT_ORDER[one] - EFFECT_ORDER[other]
}
