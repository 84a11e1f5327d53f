import type { Policy } from '@countersign/contract'
import type { Page, PageRequest, Store } from '@countersign/store-port/store'
import { DomainError } from '../../domain-error.js'
import { viewPolicy } from './view.js'

/** Live policies, newest first. */
export async function listPolicies(
  deps: { readonly store: Pick<Store, 'listPolicies'> },
  page: PageRequest,
): Promise<Page<Policy>> {
  const found = await deps.store.listPolicies(page)
  return { items: found.items.map(viewPolicy), next: found.next }
}

/**
 * Every revision of a policy, newest first, also after it was deleted.
 *
 * @throws DomainError not_found
 */
export async function listPolicyRevisions(
  deps: { readonly store: Pick<Store, 'listPolicyRevisions'> },
  id: string,
  page: PageRequest,
): Promise<Page<Policy>> {
  const found = await deps.store.listPolicyRevisions(id, page)
  if (found.items.length === 0 && page.after === null) throw new DomainError('not_found')
  return { items: found.items.map(viewPolicy), next: found.next }
}
