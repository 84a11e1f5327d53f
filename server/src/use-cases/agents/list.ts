import type { Agent } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import type { Store } from '../../ports/store/store.js'
import { viewAgent } from './view.js'

/** Lists the agents that the caller may speak for, newest first. */
export async function listAgents(
  deps: { readonly store: Pick<Store, 'agents'> },
  caller: Caller,
  page: PageRequest,
): Promise<Page<Agent>> {
  const found = await deps.store.agents.list(caller.key.agents, page)
  return { items: found.items.map(viewAgent), next: found.next }
}
