import { isScalar, type Json, type Scalar } from '@countersign/contract'
import { coversPattern } from '../pattern.js'
import type { Steps } from '../steps.js'
import { type Conjunction, isTrueFor, type Leaf, namedValues } from './leaf.js'
import type { LintedRule } from './linted-rule.js'

/**
 * Whether an earlier rule decides every request that a later one would decide. Never true by mistake, but it can miss
 * covers that need more than comparing single conditions, or more steps than are left.
 */
export function coversRule(earlier: LintedRule, later: LintedRule, steps: Steps): boolean {
  steps.take(1)
  if (steps.isOver) return false
  if (!coversPattern(earlier.action, later.action)) return false
  if (earlier.resource !== null) {
    if (later.resource === null || !coversPattern(earlier.resource, later.resource)) return false
  }
  if (later.decidesUnknown && !earlier.decidesUnknown && canBeUnknown(earlier)) return false
  return isImplied(earlier.conjunctions[0], later.conjunctions[0], steps)
}

function canBeUnknown({ resource, conjunctions: [own] }: LintedRule): boolean {
  return resource !== null || own.groups.length > 0 || own.leaves.some(({ operator }) => operator !== '$exists')
}

/**
 * Whether each part of `wide` follows from a part of `narrow`: true whenever that is true, and never false when that is
 * unknown.
 */
function isImplied(wide: Conjunction, narrow: Conjunction, steps: Steps): boolean {
  return (
    wide.leaves.every((leaf) => narrow.byPath.get(leaf.path)?.some((other) => follows(leaf, other, steps))) &&
    wide.groups.every((group) => narrow.groups.some((other) => isSameGroup(group, other, steps)))
  )
}

function isSameGroup(one: string, other: string, steps: Steps): boolean {
  steps.take(1)
  steps.read(one.length === other.length ? one.length : 0)
  return !steps.isOver && one === other
}

/** Judges two leaves with the same path. */
function follows(wide: Leaf, narrow: Leaf, steps: Steps): boolean {
  steps.take(1 + (namedValues(narrow)?.length ?? 0) + (namedValues(wide)?.length ?? 0))
  if (steps.isOver) return false
  if (wide.essence === narrow.essence) return true
  const values = namedValues(narrow)
  // This order is fast: for two long lists the first values nearly always tell.
  if (values !== null) return values.every((value) => isTrueFor(wide, value)) && isOfOneType(wide, values)
  return isWiderBound(wide, narrow)
}

/** Both leaves are unknown for the same values only when all named values have one type. */
function isOfOneType(wide: Leaf, values: readonly Scalar[]): boolean {
  const named: readonly Json[] | null = isBound(wide) ? [wide.operand] : namedValues(wide)
  return named !== null && new Set([...named, ...values].map((value) => typeof value)).size === 1
}

function isBound({ operator, operand }: Leaf): boolean {
  return operator in BOUNDS && isScalar(operand)
}

const BOUNDS: Readonly<Record<string, { direction: 'below' | 'above'; isStrict: boolean }>> = {
  $lt: { direction: 'below', isStrict: true },
  $lte: { direction: 'below', isStrict: false },
  $gt: { direction: 'above', isStrict: true },
  $gte: { direction: 'above', isStrict: false },
}

/** `$lte 100` follows from `$lt 100` and from `$lte 50`. */
function isWiderBound(wide: Leaf, narrow: Leaf): boolean {
  if (!isBound(wide) || !isBound(narrow) || typeof wide.operand !== typeof narrow.operand) return false
  const one = BOUNDS[wide.operator]
  const other = BOUNDS[narrow.operator]
  if (one === undefined || other === undefined || one.direction !== other.direction) return false
  if (wide.operand === narrow.operand) return other.isStrict || !one.isStrict
  return isTrueFor(wide, narrow.operand as Scalar)
}
