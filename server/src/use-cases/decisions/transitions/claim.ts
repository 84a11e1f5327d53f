import type { Claim, Decision } from '@countersign/contract'
import type { Caller } from '../../../caller.js'
import { DomainError } from '../../../domain-error.js'
import type { StoredDecision } from '../../../ports/store/documents.js'
import { endOf, type Lifetimes } from '../new-decision.js'
import { type PermitDeps, viewWithPermit } from '../permit.js'
import { invalidTransition, mayMove, presentStatus } from '../status.js'
import { type EvaluateAgainDeps, evaluateAgain } from './evaluate-again.js'
import { applyTransition, type TransitionCall, type TransitionDeps } from './transition.js'

export interface ClaimDeps extends TransitionDeps, EvaluateAgainDeps, PermitDeps {
  readonly lifetimes: Lifetimes
}

/**
 * Takes an approved decision to run it. The first holder gets the permit, and gets it again while the action may run.
 *
 * @throws DomainError not_found, not_asker, already_claimed, agent_suspended, invalid_transition, policy_denies
 *
 * Source: docs/reviews.md
 */
export async function claimDecision(
  deps: ClaimDeps,
  call: TransitionCall,
  { holder = null }: Claim,
): Promise<Decision> {
  const { caller, requestId } = call
  const claimed = await applyTransition(deps, call, (found, now) => {
    const { decision } = found
    assertMayClaim(caller, decision)
    const isClaimed = decision.claimed_at !== null
    if (isClaimed && decision.holder?.name !== holder) throw new DomainError('already_claimed')
    if (deps.agents.isSuspended(decision.agent_id)) throw new DomainError('agent_suspended')
    if (isClaimed && presentStatus(decision, now) === 'authorized') return null
    if (!mayMove('decision.claimed', decision, now)) throw invalidTransition(decision, now, 'claimed')
    evaluateAgain(deps, found, now, requestId)
    const expiresAt = endOf('allow', new Date(now), deps.lifetimes)
    return {
      type: 'decision.claimed',
      changes: { status: 'authorized', holder: { name: holder }, claimed_at: now, expires_at: expiresAt },
      data: { holder, claimed_at: now },
    }
  })
  return viewWithPermit(deps, caller, claimed, deps.clock.now().toISOString())
}

/** @throws DomainError not_asker */
export function assertMayClaim(caller: Caller, decision: StoredDecision): void {
  if (decision.key_id !== caller.key.id) throw new DomainError('not_asker')
}
