import type { Decision, Redeem } from '@countersign/contract'
import type { Caller } from '../../../caller.js'
import { DomainError } from '../../../domain-error.js'
import type { DecisionWithRequest } from '../../../ports/store/decisions.js'
import type { Agents } from '../../../state/agents.js'
import { findVisible } from '../get.js'
import { invalidTransition, mayMove } from '../status.js'
import { type TransitionCall, type TransitionDeps, transitionDecision } from './transition.js'

export interface RedeemDeps extends TransitionDeps {
  readonly agents: Agents
  /** Returns the id of the permit's decision. @throws DomainError permit_invalid */
  readonly verifyPermit: (token: string) => Promise<string>
}

/**
 * Uses up a permit. Only one of the callers that present it gets the decision.
 *
 * @throws DomainError permit_invalid, not_found, permit_already_used, agent_suspended, invalid_transition
 *
 * Source: docs/permits.md "Redeem"
 */
export async function redeemPermit(
  deps: RedeemDeps,
  call: Omit<TransitionCall, 'id'>,
  { permit_token }: Redeem,
): Promise<Decision> {
  const id = await deps.verifyPermit(permit_token)
  return transitionDecision(deps, { ...call, id }, ({ decision }, now) => {
    if (decision.redeemed !== null) throw new DomainError('permit_already_used')
    if (deps.agents.isSuspended(decision.agent_id)) throw new DomainError('agent_suspended')
    if (!mayMove('decision.redeemed', decision, now)) throw invalidTransition(decision, now, 'redeemed')
    const redeemed = { by: call.caller.key.id, at: now }
    return { type: 'decision.redeemed', changes: { redeemed }, data: { redeemed } }
  })
}

/**
 * Finds the decision that a permit was issued for.
 *
 * @throws DomainError permit_invalid, not_found
 */
export async function findByPermit(
  deps: Pick<RedeemDeps, 'store' | 'verifyPermit'>,
  caller: Caller,
  token: string,
): Promise<DecisionWithRequest> {
  return findVisible(deps.store, caller, await deps.verifyPermit(token))
}
