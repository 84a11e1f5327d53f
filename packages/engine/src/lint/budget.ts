import {
  type Budget,
  compilePattern,
  type Effect,
  type Pattern,
  type PolicyDocument,
  type Warning,
} from '@countersign/contract'
import { patternsOverlap } from '../pattern.js'
import type { Steps } from '../steps.js'
import { type RuleScope, scopesOf, scopesOverlap } from './linted-rule.js'

/** A budget is spent by an allow rule, or by an approved review rule, on an action that it counts. */
export function* checkSpendable(
  policy: PolicyDocument,
  rules: readonly RuleScope[],
  steps: Steps,
): Generator<void, Warning[]> {
  if (policy.budget === undefined) return []
  const spending = yield* spendingRules(policy.budget, rules, steps)
  if (spending.length > 0 || steps.isOver) return []
  const message =
    'No rule of this policy can spend its budget: none that can decide allows or reviews an action that it counts.'
  return [{ code: 'budget_never_spent', pointer: '/budget', message }]
}

/** A policy with its patterns: the agents and the subjects of its rules that can decide. */
interface ScopedPolicy {
  readonly policy: PolicyDocument
  readonly agents: readonly Pattern[]
  readonly rules: readonly RuleScope[]
}

/**
 * An allow of higher priority ends the search before a budget below it is asked. Warns on both sides: at the budget of
 * this policy, and at rules of this policy above the budgets of others. Gives one warning per place.
 */
export function* checkPassedBudgets(
  policy: PolicyDocument,
  rules: readonly RuleScope[],
  others: Iterable<PolicyDocument>,
  steps: Steps,
): Generator<void, Warning[]> {
  if (!isEnforced(policy)) return []
  const mine: ScopedPolicy = { policy, agents: agentsOf(policy), rules }
  const warnings = new Map<string, Warning>()
  for (const other of others) {
    steps.take(1)
    if (steps.isOver) break
    const warning = isEnforced(other) ? yield* passedBetween(mine, other, warnings, steps) : null
    if (warning !== null && !steps.isOver) warnings.set(warning.pointer, warning)
    yield
  }
  return [...warnings.values()]
}

/** Yields the warning that one other policy causes, at a place that has none yet. */
function* passedBetween(
  mine: ScopedPolicy,
  other: PolicyDocument,
  known: ReadonlyMap<string, Warning>,
  steps: Steps,
): Generator<void, Warning | null> {
  const code = 'allow_passes_budget'
  if (priorityOf(mine.policy) > priorityOf(other)) {
    const open = mine.rules.filter(({ rule, pointer }) => rule.effect === 'allow' && !known.has(pointer))
    if (other.budget === undefined) return null
    const passing = yield* passingRule({ ...mine, rules: open }, yield* scoped(other, steps), other.budget, steps)
    if (passing === undefined) return null
    const message = `Rule ${passing.index} allows what then bypasses the budget of ${quote(other)}, which has a lower priority.`
    return { code, pointer: passing.pointer, message }
  }
  const { budget } = mine.policy
  if (priorityOf(mine.policy) === priorityOf(other) || budget === undefined || known.has('/budget')) return null
  const passing = yield* passingRule(yield* scoped(other, steps), mine, budget, steps)
  if (passing === undefined) return null
  const message = `Rule ${passing.index} of ${quote(other)}, which has a higher priority, allows what then bypasses this budget.`
  return { code, pointer: '/budget', message }
}

/** Finds the first allow rule of the upper policy for an action that the budget of the lower one counts. */
function* passingRule(
  upper: ScopedPolicy,
  lower: ScopedPolicy,
  budget: Budget,
  steps: Steps,
): Generator<void, RuleScope | undefined> {
  const allows = yield* countedRules(budget, upper.rules, ['allow'], steps)
  if (allows.length === 0 || !(yield* agentsOverlap(upper, lower, steps))) return undefined
  const spending = yield* spendingRules(budget, lower.rules, steps)
  for (const allow of allows) if (yield* someOf(spending, steps, (rule) => scopesOverlap(allow, rule))) return allow
  return undefined
}

function spendingRules(budget: Budget, rules: readonly RuleScope[], steps: Steps): Generator<void, RuleScope[]> {
  return countedRules(budget, rules, ['allow', 'review'], steps)
}

/** Finds the rules of these effects with an action that the budget counts. */
function* countedRules(
  { actions = ['*'] }: Budget,
  rules: readonly RuleScope[],
  effects: readonly Effect[],
  steps: Steps,
): Generator<void, RuleScope[]> {
  const counted = actions.map(compilePattern)
  const found: RuleScope[] = []
  for (const scope of rules) {
    if (!effects.includes(scope.rule.effect)) continue
    if (yield* someOf(counted, steps, (pattern) => patternsOverlap(pattern, scope.action))) found.push(scope)
  }
  return found
}

/**
 * Whether an item passes the test, found within the steps: each item takes one step, and none once they are used up.
 */
function* someOf<T>(items: readonly T[], steps: Steps, isAsked: (item: T) => boolean): Generator<void, boolean> {
  for (const item of items) {
    if (steps.isOver) return false
    steps.take(1)
    if (steps.isOver) return false
    if (steps.endsPart()) yield
    if (isAsked(item)) return true
  }
  return false
}

function* scoped(policy: PolicyDocument, steps: Steps): Generator<void, ScopedPolicy> {
  steps.take(policy.rules.length + (policy.agents?.length ?? 0))
  return { policy, agents: agentsOf(policy), rules: yield* scopesOf(policy) }
}

function agentsOf({ agents = ['*'] }: PolicyDocument): Pattern[] {
  return agents.map(compilePattern)
}

function* agentsOverlap(
  { agents }: ScopedPolicy,
  { agents: others }: ScopedPolicy,
  steps: Steps,
): Generator<void, boolean> {
  for (const one of agents) if (yield* someOf(others, steps, (other) => patternsOverlap(one, other))) return true
  return false
}

function isEnforced({ enabled = true, mode = 'enforce' }: PolicyDocument): boolean {
  return enabled && mode === 'enforce'
}

function priorityOf({ priority = 0 }: PolicyDocument): number {
  return priority
}

function quote({ name }: PolicyDocument): string {
  return JSON.stringify(name)
}
