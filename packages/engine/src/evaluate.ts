import { type Effect, LIMITS, type ReasonCode, type Shadow } from '@countersign/contract'
import type { BudgetedRule, CompiledBudget } from './budget/compiled-budget.js'
import { type CompiledPolicy, type CompiledRule, effectOf, judgeRule } from './compiled-policy.js'
import { compareRestriction, DEFAULT_POLICY_ID, type Evaluation } from './evaluation.js'
import { findIndeterminate } from './indeterminate.js'
import type { PolicySet } from './policy-set.js'
import {
  FAULT_REASON,
  LIMIT_REASON,
  NO_POLICY_REASON,
  reasonOfMatch,
  reasonOfUnknown,
  SUSPENDED_REASON,
} from './reason.js'
import type { EngineRequest, Facts } from './request.js'
import { Steps } from './steps.js'
import { type Truth, UNKNOWN } from './truth.js'

const NOT_BUDGETED: readonly BudgetedRule[] = []

/** A rule that decides for its policy. */
interface Match {
  readonly rule: CompiledRule
  readonly truth: Truth
  readonly effect: Effect
}

/**
 * Decides a request by a set of policies, without budgets: `budgeted` names those to ask. Synchronous and pure: the
 * same set, request and facts give the same evaluation, no matter in which order the set was loaded.
 *
 * The request must be validated. The cost depends on the rules that can match the request's agent and action. An
 * evaluation that would take more than `maxSteps` ends with a deny, `evaluation_limit`, at the rule that it has
 * reached; all shadow policies together get the same number of steps again.
 *
 * Source: docs/concepts/policies.md "How a decision is made" and "How much work a decision takes".
 */
export function evaluate(
  set: PolicySet,
  request: EngineRequest,
  facts: Facts,
  maxSteps: number = LIMITS.evaluationSteps,
): Evaluation {
  if (facts.suspended) return defaultDeny('agent_suspended', SUSPENDED_REASON, [])
  const candidates = set.candidates(request.agent_id, request.action)
  const shadow =
    candidates.shadow.length === 0 ? [] : evaluateShadow(candidates.shadow, request, facts, new Steps(maxSteps))
  return evaluateEnforced(candidates.enforced, request, facts, shadow, new Steps(maxSteps))
}

/** More than any evaluation takes, and a small integer like the real limits, so that evaluations stay as fast. */
const WITHIN_ANY_LIMIT = 1_000_000_000

/**
 * @internal Returns what {@link evaluate} decided at the time, whatever the step limit was then: the evaluation
 *   finished within it, or used its steps up at the rule `limitedAt`. Leaves out shadow policies.
 */
export function evaluateAsThen(
  set: PolicySet,
  request: EngineRequest,
  facts: Facts,
  limitedAt: CompiledRule | null,
): Evaluation {
  if (facts.suspended) return defaultDeny('agent_suspended', SUSPENDED_REASON, [])
  if (limitedAt !== null) return denyOf(limitedAt, 'evaluation_limit', LIMIT_REASON, [])
  const { enforced } = set.candidates(request.agent_id, request.action)
  return evaluateEnforced(enforced, request, facts, [], new Steps(WITHIN_ANY_LIMIT))
}

/** Returns the evaluation to record when {@link evaluate} threw: an internal error denies. */
export function evaluationError(): Evaluation {
  return defaultDeny('evaluation_error', FAULT_REASON, [])
}

/** Visits rules in the order of evaluation: by priority, then by policy id, then in the order of the policy. */
function evaluateEnforced(
  rules: readonly CompiledRule[],
  request: EngineRequest,
  facts: Facts,
  shadow: Shadow[],
  steps: Steps,
): Evaluation {
  let budgeted: BudgetedRule[] | null = null
  let best: Match | null = null
  let settled: CompiledPolicy | null = null
  for (const rule of rules) {
    if (best !== null && (best.effect === 'deny' || best.rule.policy.priority !== rule.policy.priority)) break
    if (rule.policy === settled) continue
    const match = matchRule(rule, request, facts, steps)
    if (steps.isOver) return denyOf(rule, 'evaluation_limit', LIMIT_REASON, shadow)
    if (match === null) continue
    settled = rule.policy
    if (rule.policy.budget !== null && (match.effect === 'allow' || match.effect === 'review')) {
      budgeted ??= []
      budgeted.push(budgetedRule(rule, rule.policy.budget))
    }
    if (best === null || compareRestriction(match.effect, best.effect) > 0) best = match
  }
  if (best === null) return defaultDeny('no_matching_policy', NO_POLICY_REASON, shadow)
  if (best.truth === UNKNOWN) return indeterminateDeny(best.rule, request, facts, shadow)
  return evaluationOf(best, request, shadow, best.effect === 'deny' || budgeted === null ? NOT_BUDGETED : budgeted)
}

function budgetedRule({ policy, index }: CompiledRule, budget: CompiledBudget): BudgetedRule {
  return { policy_id: policy.id, policy_revision: policy.revision, rule: index, budget }
}

/** The policy at which the steps are used up denies, as it would if it were enforced; later policies are left out. */
function evaluateShadow(rules: readonly CompiledRule[], request: EngineRequest, facts: Facts, steps: Steps): Shadow[] {
  const shadow: Shadow[] = []
  let settled: CompiledPolicy | null = null
  for (const rule of rules) {
    if (rule.policy === settled) continue
    const match = matchRule(rule, request, facts, steps)
    const effect = steps.isOver ? 'deny' : match?.effect
    if (effect === undefined) continue
    settled = rule.policy
    shadow.push({ policy_id: rule.policy.id, effect, rule: rule.index })
    if (steps.isOver) break
  }
  return shadow.sort((one, other) => (one.policy_id < other.policy_id ? -1 : 1))
}

function matchRule(rule: CompiledRule, request: EngineRequest, facts: Facts, steps: Steps): Match | null {
  const truth = judgeRule(rule, request, facts, steps)
  const effect = effectOf(rule, truth)
  return effect === null ? null : { rule, truth, effect }
}

function evaluationOf(
  { rule, effect }: Match,
  request: EngineRequest,
  shadow: Shadow[],
  budgeted: readonly BudgetedRule[],
): Evaluation {
  return {
    effect,
    reason: reasonOfMatch(effect, rule.reason, request.action),
    reason_code: 'rule_matched',
    policy_id: rule.policy.id,
    policy_revision: rule.policy.revision,
    rule: rule.index,
    shadow,
    budgeted,
  }
}

function indeterminateDeny(rule: CompiledRule, request: EngineRequest, facts: Facts, shadow: Shadow[]): Evaluation {
  const indeterminate = findIndeterminate(rule, request, facts)
  return { ...denyOf(rule, 'condition_indeterminate', reasonOfUnknown(indeterminate), shadow), indeterminate }
}

/** Returns the deny of a rule that could not be judged. */
function denyOf(
  { policy, index }: CompiledRule,
  reason_code: ReasonCode,
  reason: string,
  shadow: Shadow[],
): Evaluation {
  return {
    effect: 'deny',
    reason,
    reason_code,
    policy_id: policy.id,
    policy_revision: policy.revision,
    rule: index,
    shadow,
    budgeted: NOT_BUDGETED,
  }
}

function defaultDeny(reason_code: ReasonCode, reason: string, shadow: Shadow[]): Evaluation {
  return {
    effect: 'deny',
    reason,
    reason_code,
    policy_id: DEFAULT_POLICY_ID,
    policy_revision: null,
    rule: null,
    shadow,
    budgeted: NOT_BUDGETED,
  }
}
