import type { Warning } from '@countersign/contract'
import type { LintedRule } from './linted-rule.js'

/** `$exists: true` in a deny rule is never unknown, so a request without the field is not denied. */
export function* checkExistsInDeny(rules: readonly LintedRule[]): Generator<void, Warning[]> {
  const warnings: Warning[] = []
  for (const { index, conjunctions } of rules.filter(({ rule }) => rule.effect === 'deny')) {
    for (const { leaves } of conjunctions) {
      for (const { path, pointer, operator, operand, isNegated } of leaves) {
        if (operator !== '$exists' || operand !== !isNegated) continue
        const message = `Rule ${index} denies only when ${path} is given: leaving it out avoids the rule.`
        warnings.push({ code: 'exists_in_deny', pointer, message })
      }
      yield
    }
  }
  return warnings
}
