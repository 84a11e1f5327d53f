import type { Warning } from '@countersign/contract'
import type { Steps } from '../steps.js'
import { canonical } from './canonical.js'
import { coversRule } from './cover.js'
import type { LintedRule } from './linted-rule.js'

/**
 * Rules that can never decide because an earlier one always does; each is reported once, with the first rule that
 * covers it.
 */
export function* checkReach(rules: readonly LintedRule[], steps: Steps): Generator<void, Warning[]> {
  const warnings: Warning[] = []
  for (const later of rules) {
    const earlier = rules.slice(0, later.index).find((candidate) => coversRule(candidate, later, steps))
    if (earlier !== undefined) warnings.push(unreachable(later, earlier))
    yield
  }
  return warnings
}

function unreachable(later: LintedRule, earlier: LintedRule): Warning {
  const { pointer } = later
  if (isSame(later, earlier)) {
    return { code: 'duplicate_rule', pointer, message: `Rule ${later.index} repeats rule ${earlier.index}.` }
  }
  const message = `Rule ${later.index} can never decide: rule ${earlier.index} matches everything it matches.`
  if (later.rule.effect === 'deny' && earlier.rule.effect === 'allow') {
    return { code: 'deny_shadowed', pointer, message: `${message} What it should deny is allowed.` }
  }
  return { code: 'rule_never_reached', pointer, message }
}

function isSame(one: LintedRule, other: LintedRule): boolean {
  return essence(one) === essence(other)
}

function essence({ rule, resource, decidesUnknown }: LintedRule): string {
  return canonical([rule.action, resource?.source ?? null, rule.effect, rule.conditions ?? null, decidesUnknown])
}
