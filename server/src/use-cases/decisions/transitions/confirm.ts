import type { Decision } from '@countersign/contract'
import type { Caller } from '../../../caller.js'
import type { IdempotencyDraft } from '../../idempotency.js'
import { invalidTransition, presentStatus } from '../status.js'
import { assertMaySettle } from './settle-rights.js'
import { committed, isOpenForLate, isSettledAs, settle } from './settlement.js'
import { type TransitionDeps, transitionDecision } from './transition.js'

export interface ConfirmInput {
  /** What was really spent. Null: each budget spent what it reserved. */
  readonly amount: number | null
  readonly note: string | null
}

/**
 * The action happened: commits what it cost. Works for 30 days after the decision expired, too.
 *
 * @throws DomainError not_found, insufficient_scope, permit_redeemed, invalid_transition
 *
 * Source: docs/lifecycle.md
 */
export async function confirmDecision(
  deps: TransitionDeps,
  caller: Caller,
  id: string,
  { amount, note }: ConfirmInput,
  idempotency: IdempotencyDraft | null,
): Promise<Decision> {
  const result = { result: 'confirmed', amount } as const
  return transitionDecision(deps, caller, id, idempotency, ({ decision }, now) => {
    assertMaySettle(caller, decision, result)
    if (isSettledAs(decision, result)) return null
    const late = isOpenForLate(decision, now)
    if (decision.status === 'confirmed') throw invalidTransition(decision, now, 'confirmed with another amount')
    if (!late && presentStatus(decision, now) !== 'authorized') throw invalidTransition(decision, now, 'confirmed')
    const changes = settle(decision, result, { at: now, note, late, corrected: false })
    return {
      type: 'decision.confirmed',
      changes,
      data: { outcome: changes.outcome, committed: committed(decision, changes.postings) },
    }
  })
}
