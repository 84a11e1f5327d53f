import type { Decision } from '@countersign/contract'
import type { Caller } from '../../../caller.js'
import type { IdempotencyDraft } from '../../idempotency.js'
import { invalidTransition, wasAuthorized } from '../status.js'
import { assertMayCorrect } from './settle-rights.js'
import { committed, isBeforeClosing, isCommittedAs, isSettledAs, type Result, settle } from './settlement.js'
import { type TransitionDeps, transitionDecision } from './transition.js'

/**
 * An operator replaces the outcome of a decision that was confirmed or rejected.
 *
 * @throws DomainError not_found, insufficient_scope, invalid_transition
 *
 * Source: docs/lifecycle.md
 */
export async function correctDecision(
  deps: TransitionDeps,
  caller: Caller,
  id: string,
  result: Result,
  note: string | null,
  idempotency: IdempotencyDraft | null,
): Promise<Decision> {
  return transitionDecision(deps, caller, id, idempotency, ({ decision }, now) => {
    assertMayCorrect(caller, decision)
    if (isSettledAs(decision, result) && isCommittedAs(decision, result)) return null
    if (decision.outcome === null || !wasAuthorized(decision)) throw invalidTransition(decision, now, 'corrected')
    if (!isBeforeClosing(decision, now)) throw invalidTransition(decision, now, 'corrected any more')
    const { late } = decision.outcome
    const changes = settle(decision, result, { at: now, note, late, corrected: true })
    return {
      type: 'decision.corrected',
      changes,
      data: { outcome: changes.outcome, committed: committed(decision, changes.postings) },
    }
  })
}
