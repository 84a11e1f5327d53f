import type { Policy } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import type { Store } from '../../ports/store/store.js'
import { viewPolicy } from './view.js'

/** Lists policies that are not deleted, newest first. */
export async function listPolicies(
  deps: { readonly store: Pick<Store, 'policies'> },
  page: PageRequest,
): Promise<Page<Policy>> {
  const found = await deps.store.policies.list(page)
  return { items: found.items.map(viewPolicy), next: found.next }
}

/**
 * Lists every revision of a policy, newest first, also after its deletion.
 *
 * @throws DomainError not_found
 */
export async function listPolicyRevisions(
  deps: { readonly store: Pick<Store, 'policies'> },
  id: string,
  page: PageRequest,
): Promise<Page<Policy>> {
  const found = await deps.store.policies.listRevisions(id, page)
  if (found.items.length === 0 && page.after === null) throw new DomainError('not_found')
  return { items: found.items.map(viewPolicy), next: found.next }
}
