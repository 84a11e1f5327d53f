import type { BudgetAccount } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import type { Store } from '../../ports/store/store.js'
import { type Policies, toEnginePolicy } from '../../state/policies.js'
import { fillPage } from './account-pages.js'
import { Listing, type ListingPosition } from './listing.js'

export interface ReadBudgetsDeps {
  readonly clock: Clock
  readonly policies: Policies
  readonly store: Pick<Store, 'accounts' | 'policies'>
  /** Settles decisions that have expired, so that balances are current. */
  readonly expireOverdue: () => Promise<unknown>
}

/** All pages of a list use the policies and the time of its first page. Otherwise an account could appear twice. */
interface ListPosition {
  readonly policy_set: number
  readonly at: string
  readonly listing: ListingPosition
}

/**
 * Lists the present accounts of all budgets, then every other account that still holds a reservation. A key that is
 * bound to agents sees the accounts of its agents and those that all agents share.
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
 * Lists what {@link listBudgets} lists, for one policy; also for a deleted one.
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

/** @throws DomainError not_found when no such policy ever existed */
export async function assertKnown(store: Pick<Store, 'policies'>, policyId: string): Promise<void> {
  const { items } = await store.policies.listRevisions(policyId, { limit: 1, after: null })
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
  return (await store.policies.loadSet(policySet)).map(toEnginePolicy)
}
