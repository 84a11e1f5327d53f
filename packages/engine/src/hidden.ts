import { reasonOfViolation } from './budget/apply-violation.js'
import type { Evaluation } from './evaluation.js'
import { reasonOfUnknown } from './reason.js'

/** What is kept from a reader who may see policies, but not all that they are applied to. */
export interface Hidden {
  /** The agent's metadata: values and their types. */
  readonly metadata: boolean
  /** What budgets have left. */
  readonly balances: boolean
}

/** The reason of an evaluation without what is hidden. Source: docs/concepts/policies.md "Explanations". */
export function reasonWithout({ metadata, balances }: Hidden, evaluation: Evaluation): string | null {
  const { reason, indeterminate, violation } = evaluation
  if (indeterminate !== undefined) return reasonOfUnknown(indeterminate, metadata)
  return violation === undefined ? reason : reasonOfViolation(violation, balances)
}
