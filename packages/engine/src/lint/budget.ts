import { type Budget, compilePattern, type Pattern, type PolicyDocument, type Warning } from '@countersign/contract'
import { patternsOverlap } from '../pattern.js'
import type { Steps } from '../steps.js'
import { type RuleScope, scopesOf, scopesOverlap } from './linted-rule.js'

/** A budget is spent by an allow rule, or by a review rule once approved, on an action that it counts. */
export function checkSpendable(policy: PolicyDocument, rules: readonly RuleScope[], steps: Steps): Warning[] {
  if (policy.budget === undefined || spendingRules(policy.budget, rules, steps).length > 0 || steps.isOver) return []
  const message =
    'No rule of this policy can spend its budget: none that can decide allows or reviews an action that it counts.'
  return [{ code: 'budget_never_spent', pointer: '/budget', message }]
}

/** A policy with its patterns: what its rules that can decide are about, and for which agents. */
interface ScopedPolicy {
  readonly policy: PolicyDocument
  readonly agents: readonly Pattern[]
  readonly rules: readonly RuleScope[]
}

/**
 * An allow of higher priority ends the search before a budget below it is asked. Named on both sides: at the budget of
 * this policy, and at rules of this policy above the budgets of others. One warning for each place.
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
    const warning = isEnforced(other) ? passedBetween(mine, other, warnings, steps) : null
    if (warning !== null && !steps.isOver) warnings.set(warning.pointer, warning)
    yield
  }
  return [...warnings.values()]
}

/** The warning that one other policy gives rise to, at a place that has none yet. */
function passedBetween(
  mine: ScopedPolicy,
  other: PolicyDocument,
  known: ReadonlyMap<string, Warning>,
  steps: Steps,
): Warning | null {
  const code = 'allow_passes_budget'
  if (priorityOf(mine.policy) > priorityOf(other)) {
    const open = mine.rules.filter(({ rule, pointer }) => rule.effect === 'allow' && !known.has(pointer))
    const passing = other.budget && passingRule({ ...mine, rules: open }, scoped(other, steps), other.budget, steps)
    if (passing === undefined) return null
    const message = `Rule ${passing.index} allows what then passes by the budget of ${quote(other)}, which has a lower priority.`
    return { code, pointer: passing.pointer, message }
  }
  const { budget } = mine.policy
  if (priorityOf(mine.policy) === priorityOf(other) || budget === undefined || known.has('/budget')) return null
  const passing = passingRule(scoped(other, steps), mine, budget, steps)
  if (passing === undefined) return null
  const message = `Rule ${passing.index} of ${quote(other)}, which has a higher priority, allows what then passes by this budget.`
  return { code, pointer: '/budget', message }
}

/** The first allow rule of the upper policy for something that the budget of the lower one counts. */
function passingRule(upper: ScopedPolicy, lower: ScopedPolicy, budget: Budget, steps: Steps): RuleScope | undefined {
  const isCounted = counting(budget, steps)
  const allows = upper.rules.filter((scope) => !steps.isOver && scope.rule.effect === 'allow' && isCounted(scope))
  if (allows.length === 0 || !agentsOverlap(upper, lower, steps)) return undefined
  const spending = spendingRules(budget, lower.rules, steps)
  return allows.find((allow) => !steps.isOver && spending.some((rule) => isWithin(steps) && scopesOverlap(allow, rule)))
}

function spendingRules(budget: Budget, rules: readonly RuleScope[], steps: Steps): RuleScope[] {
  const isCounted = counting(budget, steps)
  // Not one step more for each rule that is left when they are over.
  return rules.filter(
    (scope) => !steps.isOver && (scope.rule.effect === 'allow' || scope.rule.effect === 'review') && isCounted(scope),
  )
}

/** Whether a budget counts an action of a rule. */
function counting({ actions = ['*'] }: Budget, steps: Steps): (scope: RuleScope) => boolean {
  const counted = actions.map(compilePattern)
  return ({ action }) => counted.some((pattern) => isWithin(steps) && patternsOverlap(pattern, action))
}

function isWithin(steps: Steps): boolean {
  steps.take(1)
  return !steps.isOver
}

function scoped(policy: PolicyDocument, steps: Steps): ScopedPolicy {
  steps.take(policy.rules.length + (policy.agents?.length ?? 0))
  return { policy, agents: agentsOf(policy), rules: scopesOf(policy) }
}

function agentsOf({ agents = ['*'] }: PolicyDocument): Pattern[] {
  return agents.map(compilePattern)
}

function agentsOverlap({ agents }: ScopedPolicy, { agents: others }: ScopedPolicy, steps: Steps): boolean {
  return agents.some((one) => others.some((other) => isWithin(steps) && patternsOverlap(one, other)))
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
