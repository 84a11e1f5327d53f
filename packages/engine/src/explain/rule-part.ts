import type { FailedCondition, Json, Pattern } from '@countersign/contract'
import type { CompiledRule } from '../compiled-policy.js'
import { describeUnknown, pathsOf } from '../indeterminate.js'
import { readPath } from '../path.js'
import { tellsOfMetadata } from '../reason.js'
import type { EngineRequest, Facts } from '../request.js'
import type { TracedTest } from '../traced-tests.js'
import { UNKNOWN } from '../truth.js'

/** One of the patterns of a rule, or a test in its conditions. */
export type RulePart = 'action' | 'resource' | TracedTest

/** The facts that parts of rules are described from, and whether the agent's metadata is hidden from the reader. */
export interface View {
  readonly request: EngineRequest
  readonly facts: Facts
  readonly hidesMetadata: boolean
}

/**
 * Describes a part with its full values. A pattern is shown as `$like`; an operator under a `$not` is prefixed with
 * `$not`.
 */
export function describePart(
  part: RulePart,
  rule: CompiledRule,
  { request, facts, hidesMetadata }: View,
): FailedCondition {
  if (part === 'action')
    return { path: 'action', operator: '$like', expected: rule.action.source, actual: request.action }
  if (part === 'resource') return describeResource((rule.resource as Pattern).source, request.resource)
  const { test, isNegated, truth } = part
  const operator = isNegated ? `$not ${test.operator}` : test.operator
  if (hidesMetadata && tellsOfMetadata(pathsOf(test)))
    return { path: test.path.source, operator, expected: test.written, actual: null, redacted: true }
  const expected: Json = (test.ref === null ? undefined : readPath(test.ref, request, facts)) ?? test.written
  if (truth !== UNKNOWN) {
    return { path: test.path.source, operator, expected, actual: readPath(test.path, request, facts) ?? null }
  }
  const { path, found } = describeUnknown(test, request, facts)
  return { path, operator, expected, actual: null, found }
}

function describeResource(expected: string, actual: string | null): FailedCondition {
  const shown = { path: 'resource', operator: '$like', expected, actual }
  return actual === null ? { ...shown, found: 'missing' } : shown
}
