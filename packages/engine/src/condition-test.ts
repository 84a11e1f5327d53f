import {
  type Conditions,
  compilePattern,
  isInNetwork,
  isScalar,
  type Json,
  LIMITS,
  matchesPattern,
  type Network,
  type Operator,
  type Pattern,
  parseAddress,
  parseNetwork,
} from '@countersign/contract'
import { type Path, type PathParser, readPath } from './path.js'
import type { EngineRequest, Facts } from './request.js'
import type { Steps } from './steps.js'
import { FALSE, not, TRUE, type Truth, truthOf, UNKNOWN } from './truth.js'

/** Above this many items, a set is faster than scanning the list. */
const WALKED_ITEMS = 8
const NO_NETWORKS: readonly Network[] = []

/** One operator on one path. Every member is always present, so that the loop over tests sees a single shape. */
export interface ConditionTest {
  readonly path: Path
  readonly operator: Operator
  /** The right-hand side as written; a reference is also in `ref`. */
  readonly written: Json
  readonly ref: Path | null
  readonly items: ReadonlySet<Json> | null
  readonly pattern: Pattern | null
  readonly networks: readonly Network[]
  /** Whether the operator may read more than two values of a fixed size. */
  readonly canRead: boolean
}

export function compileTest(path: string, operator: Operator, written: Json, parsePath: PathParser): ConditionTest {
  const isList = (operator === '$in' || operator === '$nin') && Array.isArray(written)
  return {
    path: parsePath(path),
    operator,
    written,
    ref: isReference(written) ? parsePath(written.$ref) : null,
    items: isList && written.length > WALKED_ITEMS ? new Set(written) : null,
    pattern: operator === '$like' ? compilePattern(written as string) : null,
    networks: operator === '$cidr' ? [written as string | string[]].flat().map(networkOf) : NO_NETWORKS,
    canRead:
      operator !== '$exists' &&
      (typeof written === 'string' || typeof written === 'object' || operator === '$contains'),
  }
}

/** Returns the tests in an operator object, in the order in which they are written. */
export function operatorsOf(member: Conditions[string]): [Operator, Json][] {
  return Object.entries(member) as [Operator, Json][]
}

/** Judges the test for this request: `unknown` whenever the two sides cannot be compared. */
export function holds(test: ConditionTest, request: EngineRequest, facts: Facts, steps: Steps): Truth {
  const operand = test.ref === null ? test.written : readPath(test.ref, request, facts)
  const value = readPath(test.path, request, facts)
  if (test.canRead) steps.read(sizeRead(test, value, operand))
  return compareSides(test, value, operand)
}

/**
 * Returns the most characters and items that the operator reads from its two sides: none from two that it cannot
 * compare. Savings by a set or by an early result do not lower it.
 */
export function sizeRead(test: ConditionTest, value: Json | undefined, operand: Json | undefined): number {
  switch (test.operator) {
    case '$exists':
      return 0
    case '$in':
    case '$nin':
      return isScalar(value) && Array.isArray(operand) ? operand.length + lengthOf(value) : 0
    case '$contains':
      return Array.isArray(value) && isScalar(operand) ? value.length + lengthOf(operand) : 0
    case '$like':
      return typeof value === 'string' ? value.length + lengthOf(operand) : 0
    case '$cidr':
      return typeof value === 'string' ? Math.min(value.length, LIMITS.addressLength) + test.networks.length : 0
    default:
      return Math.min(lengthOf(value), lengthOf(operand))
  }
}

function lengthOf(side: Json | undefined): number {
  return typeof side === 'string' ? side.length : 0
}

/** Compares a value at the path of the test with a right-hand side. */
export function compareSides(test: ConditionTest, value: Json | undefined, operand: Json | undefined): Truth {
  switch (test.operator) {
    case '$eq':
      return isEqual(value, operand)
    case '$ne':
      return not(isEqual(value, operand))
    case '$lt':
    case '$lte':
    case '$gt':
    case '$gte':
      return isInOrder(test.operator, compare(value, operand))
    case '$in':
      return isAmong(value, operand, test.items)
    case '$nin':
      return not(isAmong(value, operand, test.items))
    case '$contains':
      return contains(value, operand)
    case '$exists':
      return truthOf((value !== undefined && value !== null) === operand)
    case '$like':
      return typeof value === 'string' ? truthOf(matchesPattern(test.pattern as Pattern, value)) : UNKNOWN
    case '$cidr':
      return isInAnyNetwork(value, test.networks)
  }
}

function networkOf(written: string): Network {
  const network = parseNetwork(written)
  if (network === null) throw new TypeError(`${written} is not a network`)
  return network
}

/** Whether a right-hand side is a reference to the value at a path. */
export function isReference(written: Json): written is { $ref: string } {
  return typeof written === 'object' && written !== null && !Array.isArray(written)
}

function isEqual(value: Json | undefined, operand: Json | undefined): Truth {
  return isScalar(value) && typeof value === typeof operand ? truthOf(value === operand) : UNKNOWN
}

/** Compares two numbers or two strings (by UTF-16 code unit); null for other values. */
function compare(value: Json | undefined, operand: Json | undefined): -1 | 0 | 1 | null {
  if (typeof value === 'number' && typeof operand === 'number') return value < operand ? -1 : value > operand ? 1 : 0
  if (typeof value === 'string' && typeof operand === 'string') return value < operand ? -1 : value > operand ? 1 : 0
  return null
}

function isInOrder(operator: '$lt' | '$lte' | '$gt' | '$gte', order: -1 | 0 | 1 | null): Truth {
  if (order === null) return UNKNOWN
  switch (operator) {
    case '$lt':
      return truthOf(order < 0)
    case '$lte':
      return truthOf(order <= 0)
    case '$gt':
      return truthOf(order > 0)
    case '$gte':
      return truthOf(order >= 0)
  }
}

function isAmong(value: Json | undefined, operand: Json | undefined, items: ReadonlySet<Json> | null): Truth {
  if (!isScalar(value) || !Array.isArray(operand)) return UNKNOWN
  if (items === null ? operand.includes(value) : items.has(value)) return TRUE
  const isComparable = operand.length === 0 || operand.some((item) => typeof item === typeof value)
  return isComparable ? FALSE : UNKNOWN
}

function contains(value: Json | undefined, operand: Json | undefined): Truth {
  if (!Array.isArray(value) || !isScalar(operand)) return UNKNOWN
  let result: Truth = FALSE
  for (const item of value) {
    const equal = isEqual(item, operand)
    if (equal === TRUE) return TRUE
    if (equal === UNKNOWN) result = UNKNOWN
  }
  return result
}

function isInAnyNetwork(value: Json | undefined, networks: readonly Network[]): Truth {
  const address = typeof value === 'string' ? parseAddress(value) : null
  return address === null ? UNKNOWN : truthOf(networks.some((network) => isInNetwork(address, network)))
}
