import type { Agent } from '@countersign/contract'
import type { AgentWithSightings, Store } from '@countersign/store-port/store'
import { type Caller, maySpeakFor } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import { viewAgent } from './view.js'

/**
 * An agent that was registered, suspended or seen asking.
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

/** The store may still know an agent that was deleted, or resumed, before it ever asked. */
function isShown({ agent, sightings }: AgentWithSightings): boolean {
  return agent.registration !== null || agent.suspended !== null || sightings.first_seen !== null
}
