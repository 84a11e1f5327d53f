import { compilePattern, type Pattern, type PolicyDocument, type Rule } from '@countersign/contract'
import { isUnknownDenied } from '../compiled-policy.js'
import { matchesEverything, patternsOverlap } from '../pattern.js'
import { type Conjunction, conjunctionsOf } from './leaf.js'

/** The requests that a rule applies to, without its conditions. */
export interface RuleScope {
  readonly rule: Rule
  readonly index: number
  /** JSON pointer to the rule in the policy. */
  readonly pointer: string
  readonly action: Pattern
  /** Null when the rule applies to any resource and also none. */
  readonly resource: Pattern | null
}

/** A rule with the facts that the checks need. */
export interface LintedRule extends RuleScope {
  readonly conjunctions: readonly [Conjunction, ...Conjunction[]]
  /** Whether an unknown result makes this rule match. */
  readonly decidesUnknown: boolean
}

/** Yields after each rule. */
export function* scopesOf(policy: PolicyDocument): Generator<void, RuleScope[]> {
  const scopes: RuleScope[] = []
  for (const [index, rule] of policy.rules.entries()) {
    scopes.push({
      rule,
      index,
      pointer: `/rules/${index}`,
      action: compilePattern(rule.action),
      resource: rule.resource === undefined || matchesEverything(rule.resource) ? null : compilePattern(rule.resource),
    })
    yield
  }
  return scopes
}

export function* prepareRules(policy: PolicyDocument): Generator<void, LintedRule[]> {
  const rules: LintedRule[] = []
  for (const scope of yield* scopesOf(policy)) {
    const conjunctions = yield* conjunctionsOf(scope.rule, scope.index)
    rules.push({ ...scope, conjunctions, decidesUnknown: isUnknownDenied(scope.rule) })
    yield
  }
  return rules
}

/** Whether some request can match the actions and resources of both, without their conditions. */
export function scopesOverlap(one: RuleScope, other: RuleScope): boolean {
  if (!patternsOverlap(one.action, other.action)) return false
  return one.resource === null || other.resource === null || patternsOverlap(one.resource, other.resource)
}
