import {
  type Conditions,
  isScalar,
  type Json,
  type Operator,
  type Rule,
  type Scalar,
  toPointer,
} from '@countersign/contract'
import { type ConditionTest, compareSides, compileTest, operatorsOf } from '../condition-test.js'
import { parsePath } from '../path.js'
import { TRUE } from '../truth.js'
import { canonical } from './canonical.js'

/** One operator of a rule's conditions, with its place. */
export interface Leaf {
  readonly path: string
  readonly operator: Operator
  readonly operand: Json
  readonly test: ConditionTest
  /** Equal for leaves that ask the same of a path. */
  readonly essence: string
  /** JSON pointer to the operator in the policy. */
  readonly pointer: string
  /** Whether it is under an odd number of `$not`. */
  readonly isNegated: boolean
}

/** Returns the only values for which the leaf holds, when it lists them. */
export function namedValues({ operator, operand }: Leaf): readonly Scalar[] | null {
  if (operator === '$eq' && isScalar(operand)) return [operand]
  return operator === '$in' && Array.isArray(operand) ? (operand as Scalar[]) : null
}

/** Whether the leaf holds for this value at its path; its right-hand side must not be a reference. */
export function isTrueFor(leaf: Leaf, value: Json): boolean {
  return compareSides(leaf.test, value, leaf.operand) === TRUE
}

/** Conditions that must hold together: the operators of one object and of the `$and` groups in it. */
export interface Conjunction {
  readonly leaves: Leaf[]
  /** The same leaves, by path. */
  readonly byPath: Map<string, Leaf[]>
  /** The rule's own `$or` and `$not` members, each as a text that is equal for groups that ask the same. */
  readonly groups: readonly string[]
}

/**
 * Returns all conjunctions in the conditions of a rule; the first one is the rule's own, the others are in its groups.
 * Yields after each operator.
 */
export function* conjunctionsOf(rule: Rule, index: number): Generator<void, [Conjunction, ...Conjunction[]]> {
  const own = newConjunction(rule.conditions === undefined ? [] : [rule.conditions])
  const found: [Conjunction, ...Conjunction[]] = [own]
  if (rule.conditions !== undefined) {
    yield* collect({ found, into: own, isNegated: false }, rule.conditions, ['rules', index, 'conditions'])
  }
  return found
}

/** Writing out a large group takes long, and most groups are never compared. */
function newConjunction(members: readonly Conditions[] = []): Conjunction {
  let groups: string[] | null = null
  return {
    leaves: [],
    byPath: new Map(),
    get groups() {
      groups ??= members.flatMap(groupsOf).map(canonical)
      return groups
    },
  }
}

/** Returns the groups among the members of conditions, including those within its `$and`. */
function groupsOf(conditions: Conditions): object[] {
  return Object.entries(conditions).flatMap(([key, member]) => {
    if (key === '$and') return (member as Conditions[]).flatMap(groupsOf)
    return key === '$or' || key === '$not' ? [{ [key]: member }] : []
  })
}

interface Walk {
  readonly found: Conjunction[]
  readonly into: Conjunction
  readonly isNegated: boolean
}

function* collect(walk: Walk, conditions: Conditions, place: readonly PropertyKey[]): Generator<void, void> {
  for (const [key, member] of Object.entries(conditions)) {
    const here = [...place, key]
    if (key === '$and')
      for (const [at, item] of (member as Conditions[]).entries()) yield* collect(walk, item, [...here, at])
    else if (key === '$or')
      for (const [at, item] of (member as Conditions[]).entries()) yield* branch(walk, item, [...here, at])
    else if (key === '$not') yield* branch({ ...walk, isNegated: !walk.isNegated }, member as Conditions, here)
    else
      for (const [operator, operand] of operatorsOf(member)) {
        addLeaf(walk, key, operator, operand, here)
        yield
      }
  }
}

function* branch(walk: Walk, conditions: Conditions, place: readonly PropertyKey[]): Generator<void, void> {
  const into = newConjunction()
  walk.found.push(into)
  yield* collect({ ...walk, into }, conditions, place)
}

function addLeaf(walk: Walk, path: string, operator: Operator, operand: Json, place: readonly PropertyKey[]): void {
  let essence: string | null = null
  const leaf: Leaf = {
    path,
    operator,
    operand,
    get essence() {
      essence ??= `${operator} ${JSON.stringify(operand)}`
      return essence
    },
    test: compileTest(path, operator, operand, parsePath),
    get pointer() {
      return toPointer([...place, operator])
    },
    isNegated: walk.isNegated,
  }
  const { leaves, byPath } = walk.into
  leaves.push(leaf)
  const together = byPath.get(path)
  if (together === undefined) byPath.set(path, [leaf])
  else together.push(leaf)
}
