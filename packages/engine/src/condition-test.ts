import {
  type Conditions,
  compilePattern,
  isInNetwork,
  isScalar,
  type Json,
  matchesPattern,
  type Network,
  type Operator,
  type Pattern,
  parseAddress,
  parseNetwork,
} from '@countersign/contract'
import { type Path, type PathParser, readPath } from './path.js'
import type { EngineRequest, Facts } from './request.js'
import { FALSE, not, TRUE, type Truth, truthOf, UNKNOWN } from './truth.js'

/** Above this many items a set is faster than a walk through the list. */
const WALKED_ITEMS = 8
const NO_NETWORKS: readonly Network[] = []

/** One operator on one path. Every member is always present, so that the loop over tests sees one shape. */
export interface ConditionTest {
  readonly path: Path
  readonly operator: Operator
  /** The right-hand side as written; a reference stands in `ref` too. */
  readonly written: Json
  readonly ref: Path | null
  readonly items: ReadonlySet<Json> | null
  readonly pattern: Pattern | null
  readonly networks: readonly Network[]
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
  }
}

/** The tests in an operator object, in the order in which they are written. */
export function operatorsOf(member: Conditions[string]): [Operator, Json][] {
  return Object.entries(member) as [Operator, Json][]
}

/** Whether the test holds for this request: `unknown` whenever the two sides cannot be compared. */
export function holds(test: ConditionTest, request: EngineRequest, facts: Facts): Truth {
  const operand = test.ref === null ? test.written : readPath(test.ref, request, facts)
  return compareSides(test, readPath(test.path, request, facts), operand)
}

/** Whether the test holds between a value at its path and a right-hand side. */
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

/** Whether a right-hand side stands for the value at a path. */
export function isReference(written: Json): written is { $ref: string } {
  return typeof written === 'object' && written !== null && !Array.isArray(written)
}

function isEqual(value: Json | undefined, operand: Json | undefined): Truth {
  return isScalar(value) && typeof value === typeof operand ? truthOf(value === operand) : UNKNOWN
}

/** The order of two numbers or two strings (by UTF-16 code unit), null when they have none. */
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
