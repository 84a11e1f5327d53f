import {
  compilePattern,
  type Effect,
  matchesPattern,
  type Pattern,
  type PolicyDocument,
  type Rule,
} from '@countersign/contract'
import { type CompiledBudget, compileBudget } from './budget/compiled-budget.js'
import { runToEnd } from './parts.js'
import type { PathParser } from './path.js'
import { matchesEverything } from './pattern.js'
import { compileConditions, type Program, runProgram } from './program.js'
import type { EngineRequest, Facts } from './request.js'
import type { Steps } from './steps.js'
import { FALSE, TRUE, type Truth, UNKNOWN } from './truth.js'

/** A stored policy, or a draft in a simulation, as it takes part in evaluation. */
export interface EnginePolicy extends PolicyDocument {
  /** Breaks ties between policies of equal priority and effect: the lower id wins, by UTF-16 code unit. */
  readonly id: string
  /** The revision that decides; null for a draft. */
  readonly revision: number | null
}

export interface CompiledRule {
  readonly policy: CompiledPolicy
  readonly index: number
  readonly effect: Effect
  readonly reason: string | null
  readonly action: Pattern
  /** Null when the rule matches any resource and also none. */
  readonly resource: Pattern | null
  readonly program: Program
  /** Whether an unknown result makes this rule match and deny. */
  readonly deniesUnknown: boolean
}

export interface CompiledPolicy {
  readonly id: string
  readonly revision: number | null
  readonly name: string
  readonly priority: number
  readonly enabled: boolean
  readonly mode: 'enforce' | 'shadow'
  /** Never empty: a policy without `agents` has the pattern `*`. */
  readonly agents: readonly Pattern[]
  readonly rules: readonly CompiledRule[]
  readonly budget: CompiledBudget | null
}

/** Policies that are compiled with one parser share their paths. */
export function compilePolicy(source: EnginePolicy, parsePath: PathParser): CompiledPolicy {
  return runToEnd(compilePolicyInParts(source, parsePath))
}

/**
 * {@link compilePolicy} for callers with other work to do between its parts: each part covers one agent or one rule.
 */
export function* compilePolicyInParts(source: EnginePolicy, parsePath: PathParser): Generator<void, CompiledPolicy> {
  const agents: Pattern[] = []
  for (const agent of new Set(source.agents ?? ['*'])) {
    agents.push(compilePattern(agent))
    yield
  }
  const rules: CompiledRule[] = []
  const policy: CompiledPolicy = {
    id: source.id,
    revision: source.revision,
    name: source.name,
    priority: source.priority ?? 0,
    enabled: source.enabled ?? true,
    mode: source.mode ?? 'enforce',
    agents,
    rules,
    budget: source.budget === undefined ? null : compileBudget(source.budget, parsePath),
  }
  for (const [index, rule] of source.rules.entries()) {
    rules.push(compileRule(policy, index, rule, parsePath))
    yield
  }
  return policy
}

/** Orders policies for evaluation: highest priority first, then the lower id by UTF-16 code unit. */
export function comparePolicies(one: CompiledPolicy, other: CompiledPolicy): number {
  if (one.priority !== other.priority) return other.priority - one.priority
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0
}

/**
 * Returns the Kleene-and of the rule's resource and conditions, given that its action matches. The value is meaningless
 * once the steps are used up.
 */
export function judgeRule(rule: CompiledRule, request: EngineRequest, facts: Facts, steps: Steps): Truth {
  steps.take(1)
  const resource = judgeResource(rule, request, steps)
  if (resource === FALSE) return FALSE
  const conditions = runProgram(rule.program, request, facts, steps)
  return resource === TRUE ? conditions : (Math.min(resource, conditions) as Truth)
}

/**
 * A request without a resource makes a rule about specific resources unknown. A pattern costs the same steps as
 * `$like`.
 */
export function judgeResource({ resource }: CompiledRule, request: EngineRequest, steps: Steps): Truth {
  if (resource === null) return TRUE
  if (request.resource === null) return UNKNOWN
  steps.read(request.resource.length + resource.source.length)
  return matchesPattern(resource, request.resource) ? TRUE : FALSE
}

/**
 * Returns the effect of a rule with this result; null when it does not match. An unknown result never allows anything.
 */
export function effectOf(rule: CompiledRule, truth: Truth): Effect | null {
  if (truth === TRUE) return rule.effect
  return truth === UNKNOWN && rule.deniesUnknown ? 'deny' : null
}

/** Whether an unknown result makes the rule match and deny: omitting a fact avoids neither a deny nor a review. */
export function isUnknownDenied(rule: Rule): boolean {
  return (rule.effect === 'deny' || rule.effect === 'review') && rule.on_unknown !== 'skip'
}

function compileRule(policy: CompiledPolicy, index: number, rule: Rule, parsePath: PathParser): CompiledRule {
  const isAnyResource = rule.resource === undefined || matchesEverything(rule.resource)
  return {
    policy,
    index,
    effect: rule.effect,
    reason: rule.reason ?? null,
    action: compilePattern(rule.action),
    resource: isAnyResource ? null : compilePattern(rule.resource as string),
    program: compileConditions(rule.conditions, parsePath),
    deniesUnknown: isUnknownDenied(rule),
  }
}
