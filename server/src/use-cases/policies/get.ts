import type { Policy } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { StoredPolicy } from '../../ports/documents.js'
import type { Policies } from '../../state/policies.js'
import { viewPolicy } from './view.js'

/** @throws DomainError not_found */
export function getPolicy(deps: { readonly policies: Policies }, id: string): Policy {
  return viewPolicy(findPolicy(deps.policies, id))
}

/** @throws DomainError not_found */
export function findPolicy(policies: Policies, id: string): StoredPolicy {
  const policy = policies.find(id)
  if (policy === undefined) throw new DomainError('not_found')
  return policy
}
