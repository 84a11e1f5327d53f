import type { Agent } from '@countersign/contract'
import type { Store } from '@countersign/store-port/store'
import type { Clock } from '../../ports/clock.js'
import { unknownAgent, viewAgent } from './view.js'

/** The answer to the same call again: the agent as it is now, also one that is gone since. */
export async function replayAgent(
  deps: { readonly store: Pick<Store, 'findAgent'>; readonly clock: Clock },
  id: string,
): Promise<Agent> {
  const found = await deps.store.findAgent(id)
  if (found !== null) return viewAgent(found)
  const agent = unknownAgent(id, deps.clock.now().toISOString())
  return viewAgent({ agent, sightings: { first_seen: null, last_seen: null } })
}
