import type { PolicyDocument, Warning } from '@countersign/contract'
import type { EnginePolicy } from '../compiled-policy.js'
import { runToEnd } from '../parts.js'
import { Steps } from '../steps.js'
import { checkPassedBudgets, checkSpendable } from './budget.js'
import { checkRestarted } from './budget-restarted.js'
import { checkCallerValues } from './caller-values.js'
import { checkContradictions } from './contradiction.js'
import { checkExistsInDeny } from './exists-in-deny.js'
import { prepareRules } from './linted-rule.js'
import { checkLiterals } from './literal-fit.js'
import { checkLogAboveDeny } from './log-above-deny.js'
import { checkReach } from './reach.js'
import { checkUnboundedBelow } from './unbounded-below.js'

/** Comparing every pair of rules grows with the square of their number, so rules beyond these are not compared. */
const COMPARED_RULES = 200
/** The most steps for comparing rules, also with other policies. */
const COMPARING_STEPS = 1_000_000
/** Bounded, because warnings are stored with the policy. */
const MAXIMUM_WARNINGS = 100

/**
 * Finds what is probably unintended in a validated policy; empty when nothing is. A warning never prevents a policy
 * from being stored.
 *
 * `others` are the other stored policies; they matter only for budgets that are bypassed. `before` is the document that
 * this one replaces; null when it is new. The first 200 rules are compared with one another, with at most a million
 * comparisons of two conditions, and at most 100 warnings are returned, in the order of the checks.
 *
 * Source: docs/concepts/policies.md "Warnings".
 */
export function lint(
  policy: PolicyDocument,
  others: Iterable<EnginePolicy> = [],
  before: PolicyDocument | null = null,
): Warning[] {
  return runToEnd(lintInParts(policy, others, before))
}

/** {@link lint} for callers with other work to do between its parts. */
export function* lintInParts(
  policy: PolicyDocument,
  others: Iterable<EnginePolicy>,
  before: PolicyDocument | null,
): Generator<void, Warning[]> {
  const steps = new Steps(COMPARING_STEPS)
  const rules = yield* prepareRules(policy)
  const compared = rules.slice(0, COMPARED_RULES)
  const unreachable = yield* checkReach(compared, steps)
  const pointers = new Set(unreachable.map(({ pointer }) => pointer))
  const reachable = rules.filter(({ pointer }) => !pointers.has(pointer))
  const warnings = [
    ...checkRestarted(policy, before),
    ...unreachable,
    ...(yield* checkContradictions(rules, steps)),
    ...(yield* checkUnboundedBelow(rules)),
    ...checkLogAboveDeny(compared),
    ...(yield* checkExistsInDeny(rules)),
    ...(yield* checkCallerValues(rules)),
  ]
  yield
  warnings.push(
    ...(yield* checkLiterals(rules, MAXIMUM_WARNINGS)),
    ...(yield* checkSpendable(policy, reachable, steps)),
    ...(yield* checkPassedBudgets(policy, reachable, others, steps)),
  )
  return warnings.slice(0, MAXIMUM_WARNINGS)
}
