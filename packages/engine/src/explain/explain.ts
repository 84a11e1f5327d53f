import type { Explanation, PolicyExplanation } from '@countersign/contract'
import { evaluate } from '../evaluate.js'
import type { PolicySet } from '../policy-set.js'
import type { EngineRequest, Facts } from '../request.js'
import { judgePolicy, notReached, type PolicyJudgement } from './judgement.js'
import { findNearestMiss } from './nearest-miss.js'
import { ShownFailures } from './shown-failures.js'
import { summarize } from './summary.js'

export interface ExplainOptions {
  /** Keeps the agent's metadata from the reader, values and types: such conditions are `redacted`. */
  readonly hidesMetadata?: boolean
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
 * Source: docs/concepts/policies.md "Explanations".
 */
export function explain(
  set: PolicySet,
  request: EngineRequest,
  facts: Facts,
  { hidesMetadata = false }: ExplainOptions = {},
): Explanation {
  const view = { request, facts, hidesMetadata }
  const evaluation = evaluate(set, request, facts)
  const { effect } = evaluation
  if (facts.suspended) {
    return { effect, summary: summarize(evaluation, view, null, null), nearest_miss: null, policies: [] }
  }
  const judged = set.inOrder().map((policy) => judgePolicy(policy, request, facts))
  const decided = judged.find(({ policy }) => policy.id === evaluation.policy_id) ?? null
  const isReached = ({ policy }: PolicyJudgement) => decided === null || policy.priority >= decided.policy.priority
  const enforced = judged.filter(({ policy }) => policy.mode === 'enforce')
  const miss = findNearestMiss(effect, enforced.filter(isReached))
  const shown = new ShownFailures(view)
  for (const first of [miss?.missed, ...(decided?.rules ?? [])]) if (first !== undefined) shown.of(first)
  return {
    effect,
    summary: summarize(evaluation, view, decided, miss),
    nearest_miss: miss && {
      policy_id: miss.missed.rule.policy.id,
      rule: miss.missed.rule.index,
      ...shown.of(miss.missed),
    },
    policies: judged.map((judgement) =>
      describePolicy(
        judgement,
        judgement === decided,
        isReached(judgement) || judgement.policy.mode === 'shadow',
        shown,
      ),
    ),
  }
}

function describePolicy(
  judgement: PolicyJudgement,
  isDecided: boolean,
  isReached: boolean,
  shown: ShownFailures,
): PolicyExplanation {
  const { policy } = judgement
  const rules = isReached ? judgement.rules : judgement.rules.map(({ rule }) => notReached(rule))
  return {
    policy_id: policy.id,
    name: policy.name,
    revision: policy.revision,
    priority: policy.priority,
    mode: policy.mode,
    agents: judgement.isAgentMatched ? 'matched' : 'no_match',
    result: resultOf(judgement, isReached),
    decided: isDecided,
    rules: rules.map((judged) => {
      const { rule, result } = judged
      return { rule: rule.index, effect: rule.effect, result, ...shown.of(judged) }
    }),
  }
}

function resultOf({ policy, isAgentMatched, match }: PolicyJudgement, isReached: boolean): PolicyExplanation['result'] {
  if (!policy.enabled) return 'disabled'
  if (!isAgentMatched) return 'no_match'
  return isReached ? (match?.effect ?? 'no_match') : 'not_reached'
}
