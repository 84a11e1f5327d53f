import { type Caller, hasScope } from '../../../caller.js'
import { DomainError } from '../../../domain-error.js'
import type { StoredDecision } from '../../../ports/store/documents.js'
import { isBelowReservation, type Result } from './settlement.js'

/**
 * The key that asked may settle a decision, as may the key that redeemed its permit and any key with decisions:settle. Once
 * the permit is redeemed, the key that asked can't lower what was reserved.
 *
 * @throws DomainError insufficient_scope, permit_redeemed
 */
export function assertMaySettle(caller: Caller, decision: StoredDecision, result: Result): void {
  const hasSettle = hasScope(caller, 'decisions:settle')
  const isRedeemer = decision.redeemed?.by === caller.key.id && hasScope(caller, 'permits:redeem')
  const isRequester = decision.key_id === caller.key.id && hasScope(caller, 'decisions:write')
  if (!hasSettle && !isRedeemer && !isRequester)
    throw new DomainError('insufficient_scope', {
      detail: 'Settling a decision that another key requested needs the scope decisions:settle.',
    })
  if (decision.redeemed === null || hasSettle || isRedeemer) return
  if (result.result === 'rejected' || isBelowReservation(decision, result.amount))
    throw new DomainError('permit_redeemed')
}

/**
 * Any key with decisions:settle may correct an outcome, except the key that asked.
 *
 * @throws DomainError insufficient_scope
 */
export function assertMayCorrect(caller: Caller, decision: StoredDecision): void {
  if (decision.key_id === caller.key.id)
    throw new DomainError('insufficient_scope', { detail: 'A key cannot correct a decision that it requested.' })
}
