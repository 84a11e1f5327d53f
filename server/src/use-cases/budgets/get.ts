import type { BudgetAccount } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { Store } from '../../ports/store.js'
import { toEnginePolicy } from '../../state/policies.js'
import { takeAll } from './account-pages.js'
import type { ReadBudgetsDeps } from './list.js'
import { Listing } from './listing.js'

/**
 * What {@link listBudgets} says of one policy, whole; also of a deleted one.
 *
 * @throws DomainError not_found
 */
export async function getBudget(deps: ReadBudgetsDeps, caller: Caller, policyId: string): Promise<BudgetAccount[]> {
  await assertKnown(deps.store, policyId)
  await deps.expireOverdue()
  const policy = deps.policies.find(policyId)
  const listing = new Listing(deps.store, {
    policies: policy === undefined ? [] : [toEnginePolicy(policy)],
    at: deps.clock.now(),
    filter: { policy_id: policyId, agents: caller.key.agents },
  })
  return takeAll(Listing.START, listing.take)
}

/** @throws DomainError not_found when there never was such a policy */
export async function assertKnown(store: Pick<Store, 'listPolicyRevisions'>, policyId: string): Promise<void> {
  const { items } = await store.listPolicyRevisions(policyId, { limit: 1, after: null })
  if (items.length === 0) throw new DomainError('not_found')
}
