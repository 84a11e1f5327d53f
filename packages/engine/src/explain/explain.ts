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
import { ShownFailures } from './shown-failures.js'
import { summarize } from './summary.js'

export interface ExplainOptions {
  /** Keeps the agent's metadata from the reader, values and types: such conditions are `redacted`. */
  readonly hidesMetadata?: boolean
  /** As many as the evaluation may take. */
  readonly maxSteps?: number
  /**
   * How an earlier evaluation ended, which is explained then, however many steps it had: within them, or at the rule at which
   * they were over. Absent when there was none: as `maxSteps` lets it.
   */
  readonly ended?: 'within_limit' | LimitedAt
}

/** A rule of the set, by its policy's id and its place in that. */
interface LimitedAt {
  readonly policy_id: string
  readonly rule: number | null
}

/**
 * Why {@link evaluate} answers this request as it does: every policy in the order of evaluation with every rule, the
 * nearest miss, and one sentence. Effect, policy and rule are those of the evaluation; for a suspended agent no policy
 * is considered.
 *
 * It shows policies and values of the request and of the agent's metadata: for readers of policies, not for the agent.
 * Goes through the whole set, so it costs far more than an evaluation. What it says grows with the policies alone: long
 * values are cut to 1,000 characters, at most 20 failed conditions of a rule and a million characters of them in all are
 * shown, those of the nearest miss and of the policy that decided first; `failed_omitted` counts the others.
 *
 * It looks at every condition, also where the answer is settled, and takes no more than `maxSteps` for that, and as many
 * for shadow policies: what then remains is `not_reached`, apart from the rule that decided.
 *
 * Source: docs/concepts/policies.md "Explanations".
 */
export function explain(set: PolicySet, request: EngineRequest, facts: Facts, options?: ExplainOptions): Explanation {
  return runToEnd(explainInParts(set, request, facts, options))
}

/** {@link explain}, for callers who have other things to do between its parts. */
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
  const shown = new ShownFailures(view)
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

/** Every policy of the set by itself; what lies below the priority that decided is not asked. */
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
  shown: ShownFailures,
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
