import type { FailedCondition, Json, Pattern } from '@countersign/contract'
import type { BlamedTest } from '../blame.js'
import type { CompiledRule } from '../compiled-policy.js'
import { describeUnknown, pathsOf } from '../indeterminate.js'
import { readPath } from '../path.js'
import { tellsOfMetadata } from '../reason.js'
import type { EngineRequest, Facts } from '../request.js'
import { UNKNOWN } from '../truth.js'

/** One thing that kept a rule from matching: one of its patterns, or a test in its conditions. */
export type Failure = 'action' | 'resource' | BlamedTest

/** What a failure is described from, and whether the agent's metadata is kept from the reader. */
export interface View {
  readonly request: EngineRequest
  readonly facts: Facts
  readonly hidesMetadata: boolean
}

/**
 * A failure as it is shown, its values whole. A pattern reads as `$like`; an operator under a `$not` is written with
 * `$not` before it.
 */
export function describeFailure(
  failure: Failure,
  rule: CompiledRule,
  { request, facts, hidesMetadata }: View,
): FailedCondition {
  if (failure === 'action')
    return { path: 'action', operator: '$like', expected: rule.action.source, actual: request.action }
  if (failure === 'resource') return describeResource((rule.resource as Pattern).source, request.resource)
  const { test, isNegated, truth } = failure
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
  const failed = { path: 'resource', operator: '$like', expected, actual }
  return actual === null ? { ...failed, found: 'missing' } : failed
}
