import type { Correct, Decision } from '@countersign/contract'
import { invalidTransition, mayMove } from '../status.js'
import { assertMayCorrect } from './settle-rights.js'
import { isBeforeClosing, isCommittedAs, isSettledAs, type Result, settle } from './settlement.js'
import { type TransitionCall, type TransitionDeps, transitionDecision } from './transition.js'

/**
 * Replaces the outcome of a confirmed or rejected decision, on behalf of an operator.
 *
 * @throws DomainError not_found, insufficient_scope, invalid_transition
 *
 * Source: docs/lifecycle.md
 */
export function correctDecision(
  deps: TransitionDeps,
  call: TransitionCall,
  { result: kind, amount = null, note = null }: Correct,
): Promise<Decision> {
  const result: Result = kind === 'confirmed' ? { result: kind, amount } : { result: kind }
  return transitionDecision(deps, call, ({ decision }, now) => {
    assertMayCorrect(call.caller, decision)
    if (isSettledAs(decision, result) && isCommittedAs(decision, result)) return null
    if (decision.outcome === null || !mayMove('decision.corrected', decision, now))
      throw invalidTransition(decision, now, 'corrected')
    if (!isBeforeClosing(decision, now)) throw invalidTransition(decision, now, 'corrected now')
    const { late } = decision.outcome
    return { type: 'decision.corrected', ...settle(decision, result, { at: now, note, late, corrected: true }) }
  })
}
