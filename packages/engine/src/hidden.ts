import { reasonOfRefusal } from './budget/refuse.js'
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
  const { reason, indeterminate, refusal } = evaluation
  if (indeterminate !== undefined) return reasonOfUnknown(indeterminate, metadata)
  return refusal === undefined ? reason : reasonOfRefusal(refusal, balances)
}
