import type { Warning } from '@countersign/contract'
import { type LintedRule, scopesOverlap } from './linted-rule.js'

/** A log rule decides, and lets the action run, before a deny rule below it is asked. */
export function checkLogAboveDeny(rules: readonly LintedRule[]): Warning[] {
  const warnings: Warning[] = []
  for (const log of rules.filter(({ rule }) => rule.effect === 'log')) {
    const deny = rules.find(
      (below) => below.index > log.index && below.rule.effect === 'deny' && scopesOverlap(log, below),
    )
    if (deny === undefined) continue
    const message = `Rule ${log.index} logs and lets run what rule ${deny.index} would deny.`
    warnings.push({ code: 'log_above_deny', pointer: log.pointer, message })
  }
  return warnings
}
