import type { Agent } from '@countersign/contract'
import { type Caller, maySpeakFor } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { AgentWithLastSeen } from '../../ports/store/agents.js'
import type { Store } from '../../ports/store/store.js'
import { viewAgent } from './view.js'

/**
 * Returns an agent that is registered or suspended, or that has asked for a decision.
 *
 * @throws DomainError not_found
 */
export async function getAgent(
  deps: { readonly store: Pick<Store, 'agents'> },
  caller: Caller,
  id: string,
): Promise<Agent> {
  const found = maySpeakFor(caller, id) ? await deps.store.agents.get(id) : null
  if (found === null || !isShown(found)) throw new DomainError('not_found')
  return viewAgent(found)
}

/** The store may still hold an agent that was deleted or resumed and never asked for a decision. */
function isShown({ agent, lastSeen }: AgentWithLastSeen): boolean {
  return agent.registration !== null || agent.suspended !== null || lastSeen.first_seen !== null
}
