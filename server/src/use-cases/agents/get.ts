import type { Agent } from '@countersign/contract'
import type { AgentWithLastSeen, Store } from '@countersign/store-port/store'
import { type Caller, maySpeakFor } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import { viewAgent } from './view.js'

/**
 * An agent that is registered or suspended, or that asked for a decision.
 *
 * @throws DomainError not_found
 */
export async function getAgent(
  deps: { readonly store: Pick<Store, 'findAgent'> },
  caller: Caller,
  id: string,
): Promise<Agent> {
  const found = maySpeakFor(caller, id) ? await deps.store.findAgent(id) : null
  if (found === null || !isShown(found)) throw new DomainError('not_found')
  return viewAgent(found)
}

/** The store may still know an agent that was deleted or resumed and never asked. */
function isShown({ agent, lastSeen }: AgentWithLastSeen): boolean {
  return agent.registration !== null || agent.suspended !== null || lastSeen.first_seen !== null
}
