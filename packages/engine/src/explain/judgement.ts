import { type Effect, type FailedCondition, matchesPattern, type RuleResult } from '@countersign/contract'
import { type CompiledPolicy, type CompiledRule, effectOf, judgeResource } from '../compiled-policy.js'
import { runProgram } from '../program.js'
import type { EngineRequest, Facts } from '../request.js'
import { FALSE, TRUE, type Truth, UNKNOWN } from '../truth.js'
import { failedConditions } from './failed-conditions.js'

/** What came of one rule when its policy was asked by itself. */
export interface RuleJudgement {
  readonly rule: CompiledRule
  readonly result: RuleResult
  readonly failed: FailedCondition[]
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
  return { rule, result: 'not_reached', failed: [], effect: null }
}

function judge(rule: CompiledRule, request: EngineRequest, facts: Facts): RuleJudgement {
  const action = matchesPattern(rule.action, request.action) ? TRUE : FALSE
  const resource = judgeResource(rule, request)
  const conditions = runProgram(rule.program, request, facts)
  const truth = Math.min(action, resource, conditions) as Truth
  const result = resultOf(action, resource, truth)
  return { rule, result, failed: failedConditions(rule, result, request, facts), effect: effectOf(rule, truth) }
}

function resultOf(action: Truth, resource: Truth, truth: Truth): RuleResult {
  if (action === FALSE) return 'action'
  if (resource === FALSE) return 'resource'
  if (truth === FALSE) return 'condition'
  return truth === UNKNOWN ? 'unknown' : 'matched'
}
