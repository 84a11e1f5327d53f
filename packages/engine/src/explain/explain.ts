import { type Explanation, LIMITS, type PolicyExplanation } from '@countersign/contract'
import type { CompiledPolicy, CompiledRule } from '../compiled-policy.js'
import { evaluate, evaluateAsThen } from '../evaluate.js'
import type { Evaluation } from '../evaluation.js'
import { runToEnd } from '../parts.js'
import type { PolicySet } from '../policy-set.js'
import type { EngineRequest, Facts } from '../request.js'
import { Steps } from '../steps.js'
import { judgedAs, judgePolicy, type PolicyJudgement } from './judgement.js'
import { findNearestMiss } from './nearest-miss.js'
import { ShownParts } from './shown-parts.js'
import { summarize } from './summary.js'

export interface ExplainOptions {
  /** Hides the values and types of the agent's metadata from the reader: such conditions are `redacted`. */
  readonly hidesMetadata?: boolean
  /** The step limit of the evaluation. */
  readonly maxSteps?: number
  /**
   * How an earlier evaluation ended, which is then explained whatever its step limit was: within the limit, or at the
   * rule where its steps were used up. When absent, `maxSteps` decides.
   */
  readonly ended?: 'within_limit' | LimitedAt
}

/** A rule of the set, by its policy's id and its index in that policy. */
interface LimitedAt {
  readonly policy_id: string
  readonly rule: number | null
}

/**
 * Explains why {@link evaluate} gives this answer: every policy in the order of evaluation with every rule, the nearest
 * miss, and one sentence. Effect, policy and rule are those of the evaluation; for a suspended agent no policy is
 * considered.
 *
 * The explanation shows policies and values of the request and of the agent's metadata, so it is meant for readers of
 * policies, not for the agent. It visits the whole set and costs far more than an evaluation. Its size grows only with
 * the policies: long values are cut to 1,000 characters, at most 20 failed or held conditions per rule and a million
 * characters of them in all are shown, first those of the nearest miss and of the policy that decided; `failed_omitted`
 * and `held_omitted` count the rest.
 *
 * It checks every condition, also after the result is settled, and takes at most `maxSteps` for that, plus the same
 * number for shadow policies. The rest is `not_reached`, except for the rule that decided.
 *
 * Source: docs/concepts/policies.md "Explanations".
 */
export function explain(set: PolicySet, request: EngineRequest, facts: Facts, options?: ExplainOptions): Explanation {
  return runToEnd(explainInParts(set, request, facts, options))
}

/** {@link explain} for callers with other work to do between its parts. */
export function* explainInParts(
  set: PolicySet,
  request: EngineRequest,
  facts: Facts,
  { hidesMetadata = false, maxSteps = LIMITS.evaluationSteps, ended }: ExplainOptions = {},
): Generator<void, Explanation> {
  const view = { request, facts, hidesMetadata }
  const evaluation =
    ended === undefined
      ? evaluate(set, request, facts, maxSteps)
      : evaluateAsThen(set, request, facts, ended === 'within_limit' ? null : ruleAt(set, ended))
  yield
  const { effect } = evaluation
  if (facts.suspended) {
    return { effect, summary: summarize(evaluation, view, null, null), nearest_miss: null, policies: [] }
  }
  const judged = yield* judgeAll(set, request, facts, evaluation, maxSteps)
  const decided = judged.find(({ policy }) => policy.id === evaluation.policy_id) ?? null
  const asked = judged.filter(({ policy, isCut }) => policy.mode === 'enforce' && !isCut)
  const miss = evaluation.reason_code === 'evaluation_limit' ? null : findNearestMiss(effect, asked)
  const shown = new ShownParts(view)
  for (const first of [miss?.missed, ...(decided?.rules ?? [])]) if (first !== undefined) shown.of(first)
  const policies: PolicyExplanation[] = []
  for (const judgement of judged) policies.push(yield* describePolicy(judgement, judgement === decided, shown))
  return {
    effect,
    summary: summarize(evaluation, view, decided, miss),
    nearest_miss: miss && {
      policy_id: miss.missed.rule.policy.id,
      rule: miss.missed.rule.index,
      ...shown.of(miss.missed),
    },
    policies,
  }
}

function ruleAt(set: PolicySet, { policy_id, rule }: LimitedAt): CompiledRule | null {
  return set.inOrder().find(({ id }) => id === policy_id)?.rules[rule ?? -1] ?? null
}

/** Judges every policy of the set alone; policies below the deciding priority are not asked. */
function* judgeAll(
  set: PolicySet,
  request: EngineRequest,
  facts: Facts,
  evaluation: Evaluation,
  maxSteps: number,
): Generator<void, PolicyJudgement[]> {
  const policies = set.inOrder()
  const decider = policies.find(({ id }) => id === evaluation.policy_id) ?? null
  const isReached = ({ mode, priority }: CompiledPolicy) =>
    mode === 'shadow' || decider === null || priority >= decider.priority
  const isLimited = evaluation.reason_code === 'evaluation_limit'
  const decided = decider && judgedAs(evaluation, decider.rules[evaluation.rule as number] as CompiledRule)
  const steps = { enforce: new Steps(maxSteps), shadow: new Steps(maxSteps) }
  const judged: PolicyJudgement[] = []
  for (const policy of policies) {
    const question = { request, facts, steps: isReached(policy) ? steps[policy.mode] : null, decided, isLimited }
    judged.push(yield* judgePolicy(policy, question))
    yield
  }
  return judged
}

function* describePolicy(
  judgement: PolicyJudgement,
  isDecided: boolean,
  shown: ShownParts,
): Generator<void, PolicyExplanation> {
  const { policy } = judgement
  const rules: PolicyExplanation['rules'][number][] = []
  for (const judged of judgement.rules) {
    const { rule, result } = judged
    rules.push({ rule: rule.index, effect: rule.effect, result, ...shown.of(judged) })
    yield
  }
  return {
    policy_id: policy.id,
    name: policy.name,
    revision: policy.revision,
    priority: policy.priority,
    mode: policy.mode,
    agents: judgement.isAgentMatched ? 'matched' : 'no_match',
    result: resultOf(judgement),
    decided: isDecided,
    rules,
  }
}

function resultOf({ policy, isAgentMatched, match, isCut }: PolicyJudgement): PolicyExplanation['result'] {
  if (!policy.enabled) return 'disabled'
  if (!isAgentMatched) return 'no_match'
  return isCut ? 'not_reached' : (match?.effect ?? 'no_match')
}
