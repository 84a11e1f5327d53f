import type { DecisionDetail } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import type { Clock } from '../../ports/clock.js'
import type { DecisionFilter } from '../../ports/store/decisions.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import type { Store } from '../../ports/store/store.js'
import { viewDecisionDetail } from './view.js'

export interface ListDecisionsDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'decisions'>
}

/** Lists decisions of the agents that the caller may speak for, newest first, without permits. */
export async function listDecisions(
  deps: ListDecisionsDeps,
  caller: Caller,
  filter: Omit<DecisionFilter, 'agents' | 'now'>,
  page: PageRequest,
): Promise<Page<DecisionDetail>> {
  const now = deps.clock.now().toISOString()
  const found = await deps.store.decisions.list({ ...filter, agents: caller.key.agents, now }, page)
  return { items: found.items.map((one) => viewDecisionDetail(one, caller, now)), next: found.next }
}
