import type { Agent } from '@countersign/contract'
import type { Page, PageRequest, Store } from '@countersign/store-port/store'
import type { Caller } from '../../caller.js'
import { viewAgent } from './view.js'

/** The agents that the caller may speak for, newest first. */
export async function listAgents(
  deps: { readonly store: Pick<Store, 'listAgents'> },
  caller: Caller,
  page: PageRequest,
): Promise<Page<Agent>> {
  const found = await deps.store.listAgents(caller.key.agents, page)
  return { items: found.items.map(viewAgent), next: found.next }
}
