import type { Warning } from '@countersign/contract'
import type { Path } from '../path.js'
import type { LintedRule } from './linted-rule.js'

/** An allow that compares two values of the caller, who can make them match. */
export function* checkCallerValues(rules: readonly LintedRule[]): Generator<void, Warning[]> {
  const warnings: Warning[] = []
  for (const { index, conjunctions } of rules.filter(({ rule }) => rule.effect === 'allow')) {
    for (const { leaves } of conjunctions) {
      for (const { path, pointer, test } of leaves) {
        if (!isGivenByCaller(test.path) || test.ref === null || !isGivenByCaller(test.ref)) continue
        const message = `Rule ${index} compares ${path} with ${test.ref.source}, and the caller gives both.`
        warnings.push({ code: 'allow_compares_caller_values', pointer, message })
      }
      yield
    }
  }
  return warnings
}

/** The agent id is not included: an API key can be bound to it. */
function isGivenByCaller({ root }: Path): boolean {
  return root === 'context' || root === 'action' || root.startsWith('resource')
}
