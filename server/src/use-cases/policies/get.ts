import type { Policy } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { StoredPolicy } from '../../ports/store/documents.js'
import type { Policies } from '../../state/policies.js'
import { viewPolicy } from './view.js'

/** @throws DomainError not_found */
export function getPolicy(deps: { readonly policies: Policies }, id: string): Policy {
  return viewPolicy(findPolicy(deps.policies, id))
}

/** @throws DomainError not_found */
export function getPolicyByName({ policies }: { readonly policies: Policies }, name: string): Policy {
  const policy = policies.named(name)
  if (policy === undefined) throw new DomainError('not_found')
  return viewPolicy(policy)
}

/** @throws DomainError not_found */
function findPolicy(policies: Policies, id: string): StoredPolicy {
  const policy = policies.find(id)
  if (policy === undefined) throw new DomainError('not_found')
  return policy
}

/**
 * @param expected the accepted present revisions (`If-Match`); null for any
 * @throws DomainError not_found, revision_mismatch
 */
export function findRevision(policies: Policies, id: string, expected: readonly string[] | null): StoredPolicy {
  const present = findPolicy(policies, id)
  if (expected !== null && !expected.includes(String(present.version)))
    throw new DomainError('revision_mismatch', { detail: `The policy is at revision ${present.version}.` })
  return present
}
