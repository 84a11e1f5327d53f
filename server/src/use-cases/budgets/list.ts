import type { BudgetAccount } from '@countersign/contract'
import type { Page, PageRequest, Store } from '@countersign/store-port/store'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import { type Policies, toEnginePolicy } from '../../state/policies.js'
import { fillPage } from './account-pages.js'
import { Listing, type ListingPosition } from './listing.js'

export interface ReadBudgetsDeps {
  readonly clock: Clock
  readonly policies: Policies
  readonly store: Pick<Store, 'listAccounts' | 'readAccounts' | 'listPolicyRevisions' | 'loadPoliciesOfSet'>
  /** Settles what the clock has ended, so that balances are as of now. */
  readonly expireOverdue: () => Promise<void>
}

/** All pages of a list speak of the policies and the moment of its first: else an account could be in it twice. */
interface ListPosition {
  readonly policy_set: number
  readonly at: string
  readonly listing: ListingPosition
}

/**
 * The present accounts of all budgets, then every other account in which something is still reserved. For a key that is
 * bound to agents: accounts of its agents and those of all agents together.
 *
 * Source: docs/budgets.md "Reading accounts".
 */
export async function listBudgets(
  deps: ReadBudgetsDeps,
  caller: Caller,
  page: PageRequest,
): Promise<Page<BudgetAccount>> {
  return listAccounts(deps, caller, page, null)
}

/**
 * What {@link listBudgets} says of one policy; also of a deleted one.
 *
 * @throws DomainError not_found
 */
export async function listBudgetOfPolicy(
  deps: ReadBudgetsDeps,
  caller: Caller,
  policyId: string,
  page: PageRequest,
): Promise<Page<BudgetAccount>> {
  await assertKnown(deps.store, policyId)
  return listAccounts(deps, caller, page, policyId)
}

/** @throws DomainError not_found when there never was such a policy */
export async function assertKnown(store: Pick<Store, 'listPolicyRevisions'>, policyId: string): Promise<void> {
  const { items } = await store.listPolicyRevisions(policyId, { limit: 1, after: null })
  if (items.length === 0) throw new DomainError('not_found')
}

async function listAccounts(
  deps: ReadBudgetsDeps,
  caller: Caller,
  page: PageRequest,
  policyId: string | null,
): Promise<Page<BudgetAccount>> {
  await deps.expireOverdue()
  const {
    policy_set,
    at,
    listing: from,
  } = page.after === null ? startOf(deps) : (JSON.parse(page.after) as ListPosition)
  const policies = [...(await policiesOf(deps, policy_set))]
  const listing = new Listing(deps.store, {
    policies: policyId === null ? policies : policies.filter(({ id }) => id === policyId),
    at: new Date(at),
    filter: { ...(policyId !== null && { policy_id: policyId }), agents: caller.key.agents },
  })
  const { items, next } = await fillPage(from, page.limit, listing.take)
  return {
    items,
    next: next === null ? null : JSON.stringify({ policy_set, at, listing: next } satisfies ListPosition),
  }
}

function startOf({ clock, policies }: ReadBudgetsDeps): ListPosition {
  return { policy_set: policies.policySet, at: clock.now().toISOString(), listing: Listing.START }
}

async function policiesOf({ policies, store }: ReadBudgetsDeps, policySet: number) {
  if (policySet === policies.policySet) return policies.others(null)
  return (await store.loadPoliciesOfSet(policySet)).map(toEnginePolicy)
}
