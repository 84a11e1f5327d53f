import type { Decision } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { Store } from '../../ports/store/store.js'
import { type PermitDeps, viewWithPermit } from './permit.js'

export interface ReplayDeps extends PermitDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'decisions'>
}

/**
 * Answers a repeated call with the decision in its present state, and with its permit while it may proceed.
 *
 * @throws DomainError already_claimed when another holder runs it
 */
export async function replayDecision(
  deps: ReplayDeps,
  caller: Caller,
  id: string,
  holder: string | null,
): Promise<Decision> {
  const found = await deps.store.decisions.get(id)
  if (found === null) throw new DomainError('not_found')
  const { decision } = found
  if (decision.holder !== null && decision.holder.name !== holder) throw new DomainError('already_claimed')
  return viewWithPermit(deps, caller, decision, deps.clock.now().toISOString())
}
