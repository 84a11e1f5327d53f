import type { Warning } from '@countersign/contract'
import type { Conjunction, Leaf } from './leaf.js'
import type { LintedRule } from './linted-rule.js'

/**
 * Numbers that an allow or review rule bounds from above alone: a refund of -5000 is at most 100. A `$not` turns bounds
 * around: `$not: {$gt: 100}` is one from above. What stands in the rule's own conditions, or under a `$not`, bounds all of
 * the rule. A budget that counts the same amount would refuse a negative one, but only while the policy has it.
 */
export function* checkUnboundedBelow(rules: readonly LintedRule[]): Generator<void, Warning[]> {
  const warnings: Warning[] = []
  for (const { conjunctions } of rules.filter(({ rule }) => rule.effect === 'allow' || rule.effect === 'review')) {
    const own = conjunctions[0].leaves
    const negated = conjunctions.flatMap(({ leaves }) => leaves.filter(({ isNegated }) => isNegated))
    const bounded = new Set([...own, ...negated].filter(isBoundBelow).map(({ path }) => path))
    for (const conjunction of conjunctions) {
      warnings.push(...unboundedIn(conjunction, bounded))
      yield
    }
  }
  return warnings
}

function unboundedIn({ byPath }: Conjunction, bounded: ReadonlySet<string>): Warning[] {
  return [...byPath].flatMap(([path, leaves]) => {
    const upper = leaves.find(isUpperBound)
    if (upper === undefined || bounded.has(path) || leaves.some(isBoundBelow)) return []
    return [
      {
        code: 'unbounded_below',
        pointer: upper.pointer,
        message: `Nothing keeps ${path} from being negative: a negative amount passes; add "$gt": 0.`,
      },
    ]
  })
}

/** The clock is never negative; of two facts that are compared nobody knows that they are numbers, but they may be. */
function isUpperBound({ test, operator, operand, isNegated }: Leaf): boolean {
  if (test.path.root !== 'context' && test.path.root !== 'agent') return false
  const isNumber = typeof operand === 'number' || test.ref !== null
  return isNumber && (isNegated ? operator === '$gt' || operator === '$gte' : operator === '$lt' || operator === '$lte')
}

/** Named values are as they are meant, and so is a lower bound, whatever it is. */
function isBoundBelow({ operator, isNegated }: Leaf): boolean {
  if (isNegated) return operator === '$lt' || operator === '$lte' || operator === '$ne' || operator === '$nin'
  return operator === '$gt' || operator === '$gte' || operator === '$eq' || operator === '$in'
}
