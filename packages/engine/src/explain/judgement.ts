import { type Effect, matchesPattern, type RuleResult } from '@countersign/contract'
import { type CompiledPolicy, type CompiledRule, effectOf, judgeResource } from '../compiled-policy.js'
import type { Evaluation } from '../evaluation.js'
import { runProgram } from '../program.js'
import type { EngineRequest, Facts } from '../request.js'
import type { Steps } from '../steps.js'
import { heldTests, unknownTests, unmetTests } from '../traced-tests.js'
import { FALSE, TRUE, type Truth, UNKNOWN } from '../truth.js'
import type { RulePart } from './rule-part.js'

const NO_FAILURES: readonly RulePart[] = []

/** The result of one rule when its policy is judged alone. */
export interface RuleJudgement {
  readonly rule: CompiledRule
  readonly result: RuleResult
  /** The parts that kept the rule from matching. */
  readonly failures: readonly RulePart[]
  /** The parts by which the rule matched. Absent when it did not match, or when nothing else is known. */
  readonly held?: readonly RulePart[]
  /** The effect that the rule decided for its policy; null when it did not match. */
  readonly effect: Effect | null
}

/** The result of one policy that is judged alone. */
export interface PolicyJudgement {
  readonly policy: CompiledPolicy
  readonly isAgentMatched: boolean
  /** Empty for a policy that takes no part. */
  readonly rules: readonly RuleJudgement[]
  /** The rule that decided for the policy. */
  readonly match: RuleJudgement | null
  /** Whether the policy was not judged to its end, because an earlier one had decided or the steps were used up. */
  readonly isCut: boolean
}

/** The request that the rules of a policy are judged by, and the number of steps. */
export interface Question {
  readonly request: EngineRequest
  readonly facts: Facts
  /** Null for a policy that is not reached. */
  readonly steps: Steps | null
  /** The rule that is known to have decided for the policy, in case the steps do not last until it. */
  readonly decided: RuleJudgement | null
  /** Whether it decided because the evaluation had used up its steps. */
  readonly isLimited: boolean
}

/**
 * Judges every rule of a policy up to the first match, without the index that evaluation uses, and checks everything in
 * it. Yields after each rule.
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

/** Returns the rule that an evaluation names, when only its result is known. */
export function judgedAs({ effect, reason_code }: Evaluation, rule: CompiledRule): RuleJudgement {
  return { rule, result: reason_code === 'rule_matched' ? 'matched' : 'unknown', failures: NO_FAILURES, effect }
}

function judgeWithin(steps: Steps | null, rule: CompiledRule, question: Question): RuleJudgement {
  if (question.isLimited && rule === question.decided?.rule) {
    // The evaluation stopped here, so its explanation stops too.
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
  if (truth === TRUE) return { rule, result: 'matched', failures: NO_FAILURES, held: heldParts(rule, values), effect }
  const tests = truth === FALSE ? unmetTests(rule.program, values) : unknownTests(rule.program, values)
  const failures = resource === UNKNOWN ? (['resource', ...tests] as const) : tests
  return { rule, result: truth === FALSE ? 'condition' : 'unknown', failures, effect }
}

function heldParts(rule: CompiledRule, values: readonly Truth[]): readonly RulePart[] {
  const patterns = rule.resource === null ? (['action'] as const) : (['action', 'resource'] as const)
  return [...patterns, ...heldTests(rule.program, values)]
}
