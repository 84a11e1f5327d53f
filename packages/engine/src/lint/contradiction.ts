import type { Json, Scalar, Warning } from '@countersign/contract'
import { compareSides, isScalar } from '../condition-test.js'
import { TRUE } from '../truth.js'
import type { Conjunction, Leaf } from './leaf.js'
import type { LintedRule } from './linted-rule.js'

/** Operators on one path that can never hold together. References are left out: what they stand for is not known. */
export function checkContradictions(rules: readonly LintedRule[]): Warning[] {
  return rules.flatMap(({ index, conjunctions }) =>
    conjunctions.flatMap((conjunction) => contradictionsIn(index, conjunction)),
  )
}

function contradictionsIn(index: number, { leaves }: Conjunction): Warning[] {
  const byPath = new Map<string, Leaf[]>()
  for (const leaf of leaves) {
    if (leaf.test.ref === null) byPath.set(leaf.path, [...(byPath.get(leaf.path) ?? []), leaf])
  }
  return [...byPath]
    .filter(([, together]) => !canHoldTogether(together))
    .map(([path, together]) => ({
      code: 'contradiction',
      pointer: (together.at(-1) as Leaf).pointer,
      message: `Rule ${index} asks of ${path} what no value can be: ${together.map(show).join(' and ')}.`,
    }))
}

function canHoldTogether(leaves: readonly Leaf[]): boolean {
  if (leaves.length === 1) return true
  if (leaves.some(({ operator, operand }) => operator === '$exists' && operand === false)) return false
  const comparing = leaves.filter(({ operator }) => operator !== '$exists')
  const values = comparing.map(valuesOf).find((named) => named !== null)
  if (values !== undefined && values !== null)
    return values.some((value) => comparing.every((leaf) => isTrueFor(leaf, value)))
  return haveCommonType(comparing) && boundsLeaveRoom(comparing)
}

/** The only values for which the leaf holds, when it names them. */
function valuesOf({ operator, operand }: Leaf): readonly Json[] | null {
  if (operator === '$eq') return [operand]
  return operator === '$in' ? (operand as Json[]) : null
}

function isTrueFor(leaf: Leaf, value: Json): boolean {
  return compareSides(leaf.test, value, leaf.operand) === TRUE
}

function haveCommonType(leaves: readonly Leaf[]): boolean {
  const [first, ...others] = leaves.map(typesFor)
  return first === undefined || first.some((type) => others.every((types) => types.includes(type)))
}

/** The types that a value must have for the operator not to be unknown. */
function typesFor({ operator, operand }: Leaf): string[] {
  if (operator === '$contains') return ['array']
  if (operator === '$like' || operator === '$cidr') return ['string']
  return [operand]
    .flat()
    .filter(isScalar)
    .map((item) => typeof item)
}

/** Whether the greatest lower bound lies below the least upper bound; of one type, that has been checked. */
function boundsLeaveRoom(leaves: readonly Leaf[]): boolean {
  const lower = leaves.filter(({ operator }) => operator === '$gt' || operator === '$gte')
  const upper = leaves.filter(({ operator }) => operator === '$lt' || operator === '$lte')
  return lower.every((low) => upper.every((high) => isRoomBetween(low, high)))
}

function isRoomBetween(low: Leaf, high: Leaf): boolean {
  const [from, to] = [low.operand as Scalar, high.operand as Scalar]
  return from < to || (from === to && low.operator === '$gte' && high.operator === '$lte')
}

function show({ operator, operand }: Leaf): string {
  return `${operator} ${JSON.stringify(operand)}`
}
