import type { Operator, Warning } from '@countersign/contract'
import type { Path } from '../path.js'
import type { Conjunction, Leaf } from './leaf.js'
import type { LintedRule } from './linted-rule.js'

/**
 * Finds numbers that an allow or review rule bounds only from above: a refund of -5000 is at most 100. A `$not`
 * reverses bounds: `$not: {$gt: 100}` is an upper bound. The rule's own conditions, and those under a `$not`, bound the
 * whole rule. A budget that counts the same amount would refuse a negative one, but only while the policy has it.
 */
export function* checkUnboundedBelow(rules: readonly LintedRule[]): Generator<void, Warning[]> {
  const warnings: Warning[] = []
  for (const { conjunctions } of rules.filter(({ rule }) => rule.effect === 'allow' || rule.effect === 'review')) {
    const own = conjunctions[0].leaves
    const negated = conjunctions.flatMap(({ leaves }) => leaves.filter(({ isNegated }) => isNegated))
    const bounded = boundedBelow([...own, ...negated])
    for (const conjunction of conjunctions) {
      warnings.push(...unboundedIn(conjunction, bounded))
      yield
    }
  }
  return warnings
}

/**
 * The statement of a leaf about one path. A leaf with a `$ref` makes one about each of two: `{a: {$gte: {$ref: b}}}`
 * bounds b from above.
 */
interface Bound {
  readonly path: Path
  /** The path of the fact that it is compared with, if any. */
  readonly other: Path | null
  readonly operator: Operator
  readonly leaf: Leaf
}

const MIRRORED: Partial<Record<Operator, Operator>> = { $lt: '$gt', $lte: '$gte', $gt: '$lt', $gte: '$lte' }

function boundsOf(leaf: Leaf): Bound[] {
  const { operator, test } = leaf
  const own = { path: test.path, other: test.ref, operator, leaf }
  if (test.ref === null) return [own]
  return [own, { path: test.ref, other: test.path, operator: MIRRORED[operator] ?? operator, leaf }]
}

function boundedBelow(leaves: readonly Leaf[]): Set<string> {
  return new Set(
    leaves
      .flatMap(boundsOf)
      .filter(isBoundBelow)
      .map(({ path }) => path.source),
  )
}

function unboundedIn({ leaves }: Conjunction, outside: ReadonlySet<string>): Warning[] {
  const inside = boundedBelow(leaves)
  const upper = new Map<string, Leaf>()
  for (const {
    path: { source },
    leaf,
  } of leaves.flatMap(boundsOf).filter(isUpperBound))
    if (!upper.has(source) && !inside.has(source) && !outside.has(source)) upper.set(source, leaf)
  return [...upper].map(([path, { pointer }]) => ({
    code: 'unbounded_below',
    pointer,
    message: `Nothing keeps ${path} from being negative: a negative amount passes; add "$gt": 0.`,
  }))
}

/**
 * The clock is never negative. Two compared facts are not known to be numbers, but they may be. When metadata of the
 * operator is compared with a value of the caller, the metadata is the bound, not the amount.
 */
function isUpperBound({ path, other, operator, leaf }: Bound): boolean {
  if (path.root !== 'context' && path.root !== 'agent') return false
  if (path.root === 'agent' && other?.root === 'context') return false
  if (other === null && typeof leaf.operand !== 'number') return false
  return leaf.isNegated ? operator === '$gt' || operator === '$gte' : operator === '$lt' || operator === '$lte'
}

/** Listed values are intended as they are, and so is any lower bound. */
function isBoundBelow({ operator, leaf: { isNegated } }: Bound): boolean {
  if (isNegated) return operator === '$lt' || operator === '$lte' || operator === '$ne' || operator === '$nin'
  return operator === '$gt' || operator === '$gte' || operator === '$eq' || operator === '$in'
}
