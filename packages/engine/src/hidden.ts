import { reasonOfViolation } from './budget/apply-violation.js'
import type { Evaluation } from './evaluation.js'
import { reasonOfUnknown } from './reason.js'

/** The facts that are hidden from a reader who may see policies, but not everything that they apply to. */
export interface Hidden {
  /** The agent's metadata: values and their types. */
  readonly metadata: boolean
  /** The remaining amounts of budgets. */
  readonly balances: boolean
}

/** Returns the reason of an evaluation without the hidden facts. Source: docs/concepts/policies.md "Explanations". */
export function reasonWithout({ metadata, balances }: Hidden, evaluation: Evaluation): string | null {
  const { reason, indeterminate, violation } = evaluation
  if (indeterminate !== undefined) return reasonOfUnknown(indeterminate, metadata)
  return violation === undefined ? reason : reasonOfViolation(violation, balances)
}
