import type { Agent } from '@countersign/contract'
import type { Store } from '@countersign/store-port/store'
import type { Clock } from '../../ports/clock.js'
import { unknownAgent, viewAgent } from './view.js'

/** The answer to a repeated call: the agent as it is now, even if it was deleted since. */
export async function replayAgent(
  deps: { readonly store: Pick<Store, 'findAgent'>; readonly clock: Clock },
  id: string,
): Promise<Agent> {
  return viewAgent((await deps.store.findAgent(id)) ?? unknownAgent(id, deps.clock.now().toISOString()))
}
