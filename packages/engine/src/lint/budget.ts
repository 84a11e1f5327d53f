import type { Budget, PolicyDocument, Warning } from '@countersign/contract'
import { compilePattern, patternsOverlap } from '../pattern.js'
import { type RuleScope, scopesOf, scopesOverlap } from './linted-rule.js'

/** A policy and what those of its rules that can decide are about. */
interface ScopedPolicy {
  readonly policy: PolicyDocument
  readonly rules: readonly RuleScope[]
}

/** A budget is spent by an allow rule, or by a review rule once approved, on an action that it counts. */
export function checkSpendable(policy: PolicyDocument, rules: readonly RuleScope[]): Warning[] {
  if (policy.budget === undefined || spendingRules(policy.budget, rules).length > 0) return []
  const message =
    'No rule of this policy can spend its budget: none that can decide allows or reviews an action that it counts.'
  return [{ code: 'budget_never_spent', pointer: '/budget', message }]
}

/**
 * An allow of higher priority ends the search before a budget below it is asked. Named on both sides: at the budget of
 * this policy, and at rules of this policy above the budgets of others. One warning for each place.
 */
export function checkPassedBudgets(
  policy: PolicyDocument,
  rules: readonly RuleScope[],
  others: Iterable<PolicyDocument>,
): Warning[] {
  if (!isEnforced(policy)) return []
  const warnings = new Map<string, Warning>()
  for (const other of others) {
    if (!isEnforced(other) || priorityOf(other) === priorityOf(policy)) continue
    const isAbove = priorityOf(policy) > priorityOf(other)
    if ((isAbove ? other : policy).budget === undefined || !agentsOverlap(policy, other)) continue
    const mine = { policy, rules }
    const theirs = { policy: other, rules: scopesOf(other) }
    const passing = isAbove ? passingRule(mine, theirs) : passingRule(theirs, mine)
    if (passing === undefined) continue
    const pointer = isAbove ? passing.pointer : '/budget'
    if (warnings.has(pointer)) continue
    const message = isAbove
      ? `Rule ${passing.index} allows what then passes by the budget of ${quote(other)}, which has a lower priority.`
      : `Rule ${passing.index} of ${quote(other)}, which has a higher priority, allows what then passes by this budget.`
    warnings.set(pointer, { code: 'allow_passes_budget', pointer, message })
  }
  return [...warnings.values()]
}

/** The first allow rule of the upper policy for something that the budget of the lower one counts. */
function passingRule(upper: ScopedPolicy, lower: ScopedPolicy): RuleScope | undefined {
  if (lower.policy.budget === undefined) return undefined
  const spending = spendingRules(lower.policy.budget, lower.rules)
  return upper.rules.find(
    (allow) =>
      allow.rule.effect === 'allow' &&
      isCounted(lower.policy.budget as Budget, allow) &&
      spending.some((rule) => scopesOverlap(allow, rule)),
  )
}

function spendingRules(budget: Budget, rules: readonly RuleScope[]): RuleScope[] {
  return rules.filter(
    (scope) => (scope.rule.effect === 'allow' || scope.rule.effect === 'review') && isCounted(budget, scope),
  )
}

function isCounted({ actions = ['*'] }: Budget, { action }: RuleScope): boolean {
  return actions.some((counted) => patternsOverlap(compilePattern(counted), action))
}

function agentsOverlap({ agents: some = ['*'] }: PolicyDocument, { agents: others = ['*'] }: PolicyDocument): boolean {
  const patterns = others.map(compilePattern)
  return some.map(compilePattern).some((one) => patterns.some((other) => patternsOverlap(one, other)))
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
