import { type Effect, matchesPattern, type RuleResult } from '@countersign/contract'
import { unknownTests, unmetTests } from '../blame.js'
import { type CompiledPolicy, type CompiledRule, effectOf, judgeResource } from '../compiled-policy.js'
import type { Evaluation } from '../evaluation.js'
import { runProgram } from '../program.js'
import type { EngineRequest, Facts } from '../request.js'
import type { Steps } from '../steps.js'
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
  /** Whether what comes first had decided, or the steps were over, before the policy was asked to its end. */
  readonly isCut: boolean
}

/** What the rules of a policy are asked, and with how many steps. */
export interface Question {
  readonly request: EngineRequest
  readonly facts: Facts
  /** Null for a policy that is not reached. */
  readonly steps: Steps | null
  /** The rule that is known to have decided for the policy, should the steps not last until there. */
  readonly decided: RuleJudgement | null
  /** Whether it decided because the steps of the evaluation were over. */
  readonly isLimited: boolean
}

/**
 * Asks every rule of a policy up to the first that matches, without the index that evaluation uses, and looks at
 * everything in it. Yields after each rule.
 */
export function* judgePolicy(policy: CompiledPolicy, question: Question): Generator<void, PolicyJudgement> {
  const { request, steps } = question
  const isAgentMatched = policy.agents.some((pattern) => matchesPattern(pattern, request.agent_id))
  if (!isAgentMatched || !policy.enabled) return { policy, isAgentMatched, rules: [], match: null, isCut: false }
  const rules: RuleJudgement[] = []
  let match: RuleJudgement | null = null
  for (const rule of policy.rules) {
    const judgement: RuleJudgement = match === null ? judgeWithin(steps, rule, question) : notReached(rule)
    if (judgement.effect !== null) match = judgement
    rules.push(judgement)
    yield
  }
  return { policy, isAgentMatched, rules, match, isCut: match === null && (steps === null || steps.isOver) }
}

function notReached(rule: CompiledRule): RuleJudgement {
  return { rule, result: 'not_reached', failures: NO_FAILURES, effect: null }
}

/** The rule that an evaluation names, when nothing but its answer is known. */
export function judgedAs({ effect, reason_code }: Evaluation, rule: CompiledRule): RuleJudgement {
  return { rule, result: reason_code === 'rule_matched' ? 'matched' : 'unknown', failures: NO_FAILURES, effect }
}

function judgeWithin(steps: Steps | null, rule: CompiledRule, question: Question): RuleJudgement {
  if (question.isLimited && rule === question.decided?.rule) {
    // The evaluation did not come further, and neither does its explanation.
    steps?.exhaust()
    return question.decided
  }
  const judgement = steps === null || steps.isOver ? null : judge(rule, question, steps)
  if (judgement !== null && !steps?.isOver) return judgement
  return rule === question.decided?.rule ? question.decided : notReached(rule)
}

function judge(rule: CompiledRule, { request, facts }: Question, steps: Steps): RuleJudgement {
  if (!matchesPattern(rule.action, request.action))
    return { rule, result: 'action', failures: ['action'], effect: null }
  steps.take(1)
  const resource = judgeResource(rule, request, steps)
  if (resource === FALSE) return { rule, result: 'resource', failures: ['resource'], effect: null }
  const values: Truth[] = []
  const truth = Math.min(resource, runProgram(rule.program, request, facts, steps, { values, isWhole: true })) as Truth
  const effect = effectOf(rule, truth)
  if (truth === TRUE) return { rule, result: 'matched', failures: NO_FAILURES, effect }
  const tests = truth === FALSE ? unmetTests(rule.program, values) : unknownTests(rule.program, values)
  const failures = resource === UNKNOWN ? (['resource', ...tests] as const) : tests
  return { rule, result: truth === FALSE ? 'condition' : 'unknown', failures, effect }
}
