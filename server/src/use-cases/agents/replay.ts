import type { Agent } from '@countersign/contract'
import type { Clock } from '../../ports/clock.js'
import type { Store } from '../../ports/store/store.js'
import { unknownAgent, viewAgent } from './view.js'

/** Answers a repeated call with the agent as it is now, even if it was deleted since. */
export async function replayAgent(
  deps: { readonly store: Pick<Store, 'agents'>; readonly clock: Clock },
  id: string,
): Promise<Agent> {
  return viewAgent((await deps.store.agents.get(id)) ?? unknownAgent(id, deps.clock.now().toISOString()))
}
