import type { Confirm, Decision } from '@countersign/contract'
import { invalidTransition, mayMove, presentStatus } from '../status.js'
import { assertMaySettle } from './settle-rights.js'
import { isBeforeClosing, isSettledAs, settle } from './settlement.js'
import { type TransitionCall, type TransitionDeps, transitionDecision } from './transition.js'

/**
 * Records that the action happened, and commits its cost. Works up to 30 days after the decision expired.
 *
 * @throws DomainError not_found, insufficient_scope, permit_redeemed, invalid_transition
 *
 * Source: docs/lifecycle.md
 */
export function confirmDecision(
  deps: TransitionDeps,
  call: TransitionCall,
  { amount = null, note = null }: Confirm,
): Promise<Decision> {
  const result = { result: 'confirmed', amount } as const
  return transitionDecision(deps, call, ({ decision }, now) => {
    assertMaySettle(call.caller, decision, result)
    if (isSettledAs(decision, result)) return null
    if (decision.status === 'confirmed') throw invalidTransition(decision, now, 'confirmed with another amount')
    if (!mayMove('decision.confirmed', decision, now) || !isBeforeClosing(decision, now))
      throw invalidTransition(decision, now, 'confirmed')
    const late = presentStatus(decision, now) === 'expired'
    return { type: 'decision.confirmed', ...settle(decision, result, { at: now, note, late, corrected: false }) }
  })
}
