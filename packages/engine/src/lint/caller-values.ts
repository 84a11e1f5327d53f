import type { Warning } from '@countersign/contract'
import type { Path } from '../path.js'
import type { LintedRule } from './linted-rule.js'

/** An allow that compares two values which the caller gives both: the caller can make them fit. */
export function checkCallerValues(rules: readonly LintedRule[]): Warning[] {
  return rules
    .filter(({ rule }) => rule.effect === 'allow')
    .flatMap(({ index, conjunctions }) =>
      conjunctions
        .flatMap(({ leaves }) => leaves)
        .filter(({ test }) => isGivenByCaller(test.path) && test.ref !== null && isGivenByCaller(test.ref))
        .map(({ path, pointer, test }) => ({
          code: 'allow_compares_caller_values',
          pointer,
          message: `Rule ${index} compares ${path} with ${test.ref?.source}, and the caller gives both.`,
        })),
    )
}

/** The agent id is not counted: an API key can be bound to it. */
function isGivenByCaller({ root }: Path): boolean {
  return root === 'context' || root === 'action' || root.startsWith('resource')
}
