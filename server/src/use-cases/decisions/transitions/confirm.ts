import type { Confirm, Decision } from '@countersign/contract'
import { invalidTransition, presentStatus } from '../status.js'
import { assertMaySettle } from './settle-rights.js'
import { isOpenForLate, isSettledAs, settle } from './settlement.js'
import { type TransitionCall, type TransitionDeps, transitionDecision } from './transition.js'

/**
 * The action happened: commits what it cost. Works for 30 days after the decision expired, too.
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
    const late = isOpenForLate(decision, now)
    if (decision.status === 'confirmed') throw invalidTransition(decision, now, 'confirmed with another amount')
    if (!late && presentStatus(decision, now) !== 'authorized') throw invalidTransition(decision, now, 'confirmed')
    return { type: 'decision.confirmed', ...settle(decision, result, { at: now, note, late, corrected: false }) }
  })
}
