import { isScalar, type Operator, type Scalar, type Warning } from '@countersign/contract'
import type { Steps } from '../steps.js'
import { type Conjunction, isTrueFor, type Leaf, namedValues } from './leaf.js'
import type { LintedRule } from './linted-rule.js'

/** Operators on one path that can never hold together. References are skipped, because their values are unknown. */
export function* checkContradictions(rules: readonly LintedRule[], steps: Steps): Generator<void, Warning[]> {
  const warnings: Warning[] = []
  for (const { index, conjunctions } of rules) {
    for (const conjunction of conjunctions) {
      warnings.push(...contradictionsIn(index, conjunction, steps))
      yield
    }
  }
  return warnings
}

function contradictionsIn(index: number, { byPath }: Conjunction, steps: Steps): Warning[] {
  return [...byPath]
    .map(([path, leaves]) => ({ path, together: leaves.filter(({ test }) => test.ref === null) }))
    .filter(({ together }) => !canHoldTogether(together, steps))
    .map(({ path, together }) => ({
      code: 'contradiction',
      pointer: (together.at(-1) as Leaf).pointer,
      message: `Rule ${index} requires of ${path} what no value satisfies: ${together.map(show).join(' and ')}.`,
    }))
}

/** Also true when the steps do not suffice to tell. */
function canHoldTogether(leaves: readonly Leaf[], steps: Steps): boolean {
  if (leaves.length <= 1) return true
  if (leaves.some(({ operator, operand }) => operator === '$exists' && operand === false)) return false
  const comparing = leaves.filter(({ operator }) => operator !== '$exists')
  const values = comparing.map(namedValues).find((named) => named !== null)
  if (values !== undefined && values !== null)
    return values.some((value) => comparing.every((leaf) => isPossible(leaf, value, steps))) || steps.isOver
  return haveCommonType(comparing) && boundsLeaveRoom(comparing)
}

function isPossible(leaf: Leaf, value: Scalar, steps: Steps): boolean {
  steps.take(1)
  return !steps.isOver && isTrueFor(leaf, value)
}

function haveCommonType(leaves: readonly Leaf[]): boolean {
  const [first, ...others] = leaves.map(typesFor)
  return first === undefined || first.some((type) => others.every((types) => types.includes(type)))
}

/** Returns the types for which the operator is not unknown. */
function typesFor({ operator, operand }: Leaf): string[] {
  if (operator === '$contains') return ['array']
  if (operator === '$like' || operator === '$cidr') return ['string']
  return [
    ...new Set(
      [operand]
        .flat()
        .filter(isScalar)
        .map((item) => typeof item),
    ),
  ]
}

/**
 * Whether the greatest lower bound is below the least upper bound; both have the same type, which was checked before.
 */
function boundsLeaveRoom(leaves: readonly Leaf[]): boolean {
  const low = tightest(leaves, '$gt', '$gte', (one, other) => one > other)
  const high = tightest(leaves, '$lt', '$lte', (one, other) => one < other)
  if (low === null || high === null) return true
  const [from, to] = [low.operand as Scalar, high.operand as Scalar]
  return from < to || (from === to && low.operator === '$gte' && high.operator === '$lte')
}

/** Returns the most restrictive of the bounds in one direction; at equal values the strict one. */
function tightest(
  leaves: readonly Leaf[],
  strict: Operator,
  open: Operator,
  isTighter: (one: Scalar, other: Scalar) => boolean,
): Leaf | null {
  let found: Leaf | null = null
  for (const leaf of leaves) {
    if (leaf.operator !== strict && leaf.operator !== open) continue
    const [one, other] = [leaf.operand as Scalar, found?.operand as Scalar]
    if (found === null || isTighter(one, other) || (one === other && leaf.operator === strict)) found = leaf
  }
  return found
}

function show({ operator, operand }: Leaf): string {
  return `${operator} ${JSON.stringify(operand)}`
}
