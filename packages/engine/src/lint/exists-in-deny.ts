import type { Warning } from '@countersign/contract'
import type { LintedRule } from './linted-rule.js'

/** `$exists: true` in a deny rule is never unknown: whoever leaves the field out is not denied. */
export function checkExistsInDeny(rules: readonly LintedRule[]): Warning[] {
  return rules
    .filter(({ rule }) => rule.effect === 'deny')
    .flatMap(({ index, conjunctions }) =>
      conjunctions
        .flatMap(({ leaves }) => leaves)
        .filter(({ operator, operand, isNegated }) => operator === '$exists' && operand === !isNegated)
        .map(({ path, pointer }) => ({
          code: 'exists_in_deny',
          pointer,
          message: `Rule ${index} denies only when ${path} is given: leaving it out gets around the rule.`,
        })),
    )
}
