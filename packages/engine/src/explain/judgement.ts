import { type Effect, matchesPattern, type RuleResult } from '@countersign/contract'
import { unknownTests, unmetTests } from '../blame.js'
import { type CompiledPolicy, type CompiledRule, effectOf, judgeResource } from '../compiled-policy.js'
import { runProgram } from '../program.js'
import type { EngineRequest, Facts } from '../request.js'
import { FALSE, TRUE, type Truth, UNKNOWN } from '../truth.js'
import type { Failure } from './failure.js'

const NO_FAILURES: readonly Failure[] = []

/** What came of one rule when its policy was asked by itself. */
export interface RuleJudgement {
  readonly rule: CompiledRule
  readonly result: RuleResult
  /** What kept the rule from matching. */
  readonly failures: readonly Failure[]
  /** What the rule decided for its policy; null when it was no match. */
  readonly effect: Effect | null
}

/** What came of one policy when it was asked by itself. */
export interface PolicyJudgement {
  readonly policy: CompiledPolicy
  readonly isAgentMatched: boolean
  /** Empty for a policy that takes no part. */
  readonly rules: readonly RuleJudgement[]
  /** The rule that decided for the policy. */
  readonly match: RuleJudgement | null
}

/** Asks every rule of a policy up to the first that matches, without the index that evaluation uses. */
export function judgePolicy(policy: CompiledPolicy, request: EngineRequest, facts: Facts): PolicyJudgement {
  const isAgentMatched = policy.agents.some((pattern) => matchesPattern(pattern, request.agent_id))
  if (!isAgentMatched || !policy.enabled) return { policy, isAgentMatched, rules: [], match: null }
  const rules: RuleJudgement[] = []
  let match: RuleJudgement | null = null
  for (const rule of policy.rules) {
    const judgement: RuleJudgement = match === null ? judge(rule, request, facts) : notReached(rule)
    if (judgement.effect !== null) match = judgement
    rules.push(judgement)
  }
  return { policy, isAgentMatched, rules, match }
}

export function notReached(rule: CompiledRule): RuleJudgement {
  return { rule, result: 'not_reached', failures: NO_FAILURES, effect: null }
}

function judge(rule: CompiledRule, request: EngineRequest, facts: Facts): RuleJudgement {
  if (!matchesPattern(rule.action, request.action))
    return { rule, result: 'action', failures: ['action'], effect: null }
  const resource = judgeResource(rule, request)
  if (resource === FALSE) return { rule, result: 'resource', failures: ['resource'], effect: null }
  const trace: Truth[] = []
  const truth = Math.min(resource, runProgram(rule.program, request, facts, trace)) as Truth
  const effect = effectOf(rule, truth)
  if (truth === TRUE) return { rule, result: 'matched', failures: NO_FAILURES, effect }
  const tests = truth === FALSE ? unmetTests(rule.program, trace) : unknownTests(rule.program, trace)
  const failures = resource === UNKNOWN ? (['resource', ...tests] as const) : tests
  return { rule, result: truth === FALSE ? 'condition' : 'unknown', failures, effect }
}
