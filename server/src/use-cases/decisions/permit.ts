import type { Decision } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import type { Signer } from '../../ports/signer.js'
import type { StoredDecision } from '../../ports/store/documents.js'
import type { Agents } from '../../state/agents.js'
import { type PermitSettings, permitClaims } from './permit-claims.js'
import { presentStatus } from './status.js'
import { viewDecision } from './view.js'

export interface PermitDeps {
  readonly agents: Agents
  readonly signer: Pick<Signer, 'sign'>
  readonly permits: PermitSettings
}

/**
 * Returns the permit of a decision that may proceed now, for the key that asked. Undefined for every other key, and
 * once the request was erased, because a permit names what was asked.
 */
export function presentPermit(
  deps: PermitDeps,
  caller: Caller,
  decision: StoredDecision,
  now: string,
): Promise<string> | undefined {
  if (caller.key.id !== decision.key_id) return undefined
  if (decision.request_hash === null) return undefined
  if (presentStatus(decision, now) !== 'authorized' || deps.agents.isSuspended(decision.agent_id)) return undefined
  return deps.signer.sign(permitClaims(decision, deps.permits))
}

/** A decision as its caller may see it now, with the permit that {@link presentPermit} returns, if any. */
export async function viewWithPermit(
  deps: PermitDeps,
  caller: Caller,
  decision: StoredDecision,
  now: string,
): Promise<Decision> {
  return viewDecision(decision, caller, now, await presentPermit(deps, caller, decision, now))
}
