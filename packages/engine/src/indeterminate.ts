import { isScalar, type Json } from '@countersign/contract'
import { type CompiledRule, judgeResource } from './compiled-policy.js'
import type { ConditionTest } from './condition-test.js'
import { readPath } from './path.js'
import { runProgram } from './program.js'
import type { EngineRequest, Facts } from './request.js'
import { Steps } from './steps.js'
import { unknownTests } from './traced-tests.js'
import { type Truth, UNKNOWN } from './truth.js'

/** The type of a value; `missing` when there is none. */
export type Found = 'missing' | 'null' | 'string' | 'number' | 'boolean' | 'array' | 'object'

/** A fact that a rule needs but that cannot be compared as it is. */
export interface Indeterminate {
  /** Where the fact is read, for example `context.amount`. */
  readonly path: string
  /** The required type, for example `number`, `number or string`, `IP address`, `array of strings`. */
  readonly expected: string
  readonly found: Found
  /** Every path that was compared: this one, and with a `$ref` both sides. */
  readonly compared: readonly string[]
}

/**
 * Finds the first fact that made this rule unknown. Call it only for such a rule. Reads only what the evaluation has
 * read, which was within its steps.
 */
export function findIndeterminate(rule: CompiledRule, request: EngineRequest, facts: Facts): Indeterminate {
  const steps = new Steps(Number.POSITIVE_INFINITY)
  if (judgeResource(rule, request, steps) === UNKNOWN)
    return { path: 'resource', expected: 'string', found: 'missing', compared: ['resource'] }
  const values: Truth[] = []
  runProgram(rule.program, request, facts, steps, { values, isWhole: false })
  const [first] = unknownTests(rule.program, values)
  if (first === undefined) throw new Error('no condition of this rule is unknown')
  return describeUnknown(first.test, request, facts)
}

/** Says which side of an unknown test is at fault, and what it must be. */
export function describeUnknown(test: ConditionTest, request: EngineRequest, facts: Facts): Indeterminate {
  const value = readPath(test.path, request, facts)
  const operand = test.ref === null ? test.written : readPath(test.ref, request, facts)
  const { onPath, onRef } = needs(test, value, operand)
  const wrong =
    onRef === null || test.ref === null
      ? { path: test.path.source, expected: onPath, found: typeOf(value) }
      : { path: test.ref.source, expected: onRef, found: typeOf(operand) }
  return { ...wrong, compared: pathsOf(test) }
}

/** Returns the paths that a test reads: its own, and that of its `$ref`. */
export function pathsOf({ path, ref }: ConditionTest): string[] {
  return ref === null ? [path.source] : [path.source, ref.source]
}

export function typeOf(value: Json | undefined): Found {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as 'string' | 'number' | 'boolean' | 'object'
}

/** The requirement for each side; `onRef` is null when the value at the path itself cannot be compared. */
interface Needs {
  readonly onPath: string
  readonly onRef: string | null
}

const SCALAR = 'string, number or boolean'
const ORDERED = 'number or string'

function needs(test: ConditionTest, value: Json | undefined, operand: Json | undefined): Needs {
  switch (test.operator) {
    case '$exists':
    case '$like':
      return { onPath: 'string', onRef: null }
    case '$cidr':
      return { onPath: 'IP address', onRef: null }
    case '$contains':
      return {
        onPath: isScalar(operand) ? `array of ${typeof operand}s` : 'array',
        onRef: Array.isArray(value) && !isScalar(operand) ? SCALAR : null,
      }
    case '$in':
    case '$nin':
      return needsOfList(value, operand)
    case '$eq':
    case '$ne':
      return needsOfPair(value, operand, isScalar, SCALAR)
    default:
      return needsOfPair(value, operand, isOrdered, ORDERED)
  }
}

function needsOfPair(
  value: Json | undefined,
  operand: Json | undefined,
  isUsable: (side: Json | undefined) => boolean,
  anyType: string,
): Needs {
  return {
    onPath: isUsable(operand) ? typeof operand : anyType,
    onRef: isUsable(value) && !isUsable(operand) ? typeof value : null,
  }
}

function needsOfList(value: Json | undefined, operand: Json | undefined): Needs {
  const types = Array.isArray(operand) ? [...new Set(operand.filter(isScalar).map((item) => typeof item))] : []
  if (types.length > 0) return { onPath: types.join(' or '), onRef: null }
  return { onPath: SCALAR, onRef: isScalar(value) ? `array of ${typeof value}s` : null }
}

function isOrdered(side: Json | undefined): boolean {
  return typeof side === 'string' || typeof side === 'number'
}
