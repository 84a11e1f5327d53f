import type { FailedCondition, Pattern, RuleResult } from '@countersign/contract'
import { type BlamedTest, unknownTests, unmetTests } from '../blame.js'
import { type CompiledRule, judgeResource } from '../compiled-policy.js'
import { describeUnknown } from '../indeterminate.js'
import { readPath } from '../path.js'
import type { EngineRequest, Facts } from '../request.js'
import { UNKNOWN } from '../truth.js'

/**
 * What kept a rule from matching: the pattern that is false, the conditions that did not hold, or those that could not
 * be told. A pattern reads as `$like`; an operator under a `$not` is written with `$not` before it.
 */
export function failedConditions(
  rule: CompiledRule,
  result: RuleResult,
  request: EngineRequest,
  facts: Facts,
): FailedCondition[] {
  switch (result) {
    case 'matched':
    case 'not_reached':
      return []
    case 'action':
      return [{ path: 'action', operator: '$like', expected: rule.action.source, actual: request.action }]
    case 'resource':
      return [{ ...resourceTest(rule), actual: request.resource }]
    case 'condition':
      return [...missingResource(rule, request), ...describe(unmetTests(rule.program, request, facts), request, facts)]
    case 'unknown':
      return [
        ...missingResource(rule, request),
        ...describe(unknownTests(rule.program, request, facts), request, facts),
      ]
  }
}

function missingResource(rule: CompiledRule, request: EngineRequest): FailedCondition[] {
  if (judgeResource(rule, request) !== UNKNOWN) return []
  return [{ ...resourceTest(rule), actual: null, found: 'missing' }]
}

function resourceTest(rule: CompiledRule) {
  return { path: 'resource', operator: '$like', expected: (rule.resource as Pattern).source }
}

function describe(blamed: readonly BlamedTest[], request: EngineRequest, facts: Facts): FailedCondition[] {
  return blamed.map(({ test, isNegated, truth }) => {
    const operator = isNegated ? `$not ${test.operator}` : test.operator
    const expected = (test.ref === null ? undefined : readPath(test.ref, request, facts)) ?? test.written
    if (truth !== UNKNOWN) {
      return { path: test.path.source, operator, expected, actual: readPath(test.path, request, facts) ?? null }
    }
    const { path, found } = describeUnknown(test, request, facts)
    return { path, operator, expected, actual: null, found }
  })
}
