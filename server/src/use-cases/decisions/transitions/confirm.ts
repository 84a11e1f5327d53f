import type { Decision } from '@countersign/contract'
import type { Caller } from '../../../caller.js'
import type { IdempotencyDraft } from '../../idempotency.js'
import { invalidTransition, presentStatus } from '../status.js'
import { viewDecision } from '../view.js'
import { assertMaySettle } from './settle-rights.js'
import { committed, isOpenForLate, isSettledSo, settle } from './settlement.js'
import { type TransitionDeps, transitionDecision } from './transition.js'

export interface ConfirmInput {
  /** What was really spent; null: what each budget reserved. */
  readonly amount: number | null
  readonly note: string | null
}

/**
 * The action happened: commits what it cost. Also after the decision expired, for 30 days.
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
  const confirmed = await transitionDecision(
    deps,
    caller,
    id,
    ({ decision }, now) => {
      assertMaySettle(caller, decision, result)
      if (isSettledSo(decision, result)) return null
      const late = isOpenForLate(decision, now)
      if (decision.status === 'confirmed') throw invalidTransition(decision, now, 'confirmed with another amount')
      if (!late && presentStatus(decision, now) !== 'authorized') throw invalidTransition(decision, now, 'confirmed')
      const changes = settle(decision, result, { at: now, note, late, corrected: false })
      return {
        type: 'decision.confirmed',
        changes,
        data: { outcome: changes.outcome, committed: committed(decision, changes.postings) },
      }
    },
    idempotency,
  )
  return viewDecision(confirmed, caller, deps.clock.now().toISOString())
}
