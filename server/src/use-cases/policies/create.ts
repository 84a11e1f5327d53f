import type { Policy, PolicyDocument } from '@countersign/contract'
import type { Ids } from '../../ports/ids.js'
import type { StoredPolicy } from '../../ports/store/documents.js'
import { viewPolicy } from './view.js'
import { nameTaken, writePolicy } from './write.js'
import { type PolicyCall, type WriteLintedDeps, writeLinted } from './write-linted.js'

/**
 * Creates a policy, which applies from the next request on.
 *
 * @throws DomainError policy_name_taken
 */
export function createPolicy(
  deps: WriteLintedDeps & { readonly ids: Ids },
  call: PolicyCall,
  document: PolicyDocument,
): Promise<Policy> {
  return writeLinted(deps, call, { document, id: null }, async (warnings) => {
    if (deps.policies.named(document.name) !== undefined) throw nameTaken(document.name)
    const now = deps.clock.now().toISOString()
    const policy: StoredPolicy = {
      id: deps.ids.next('pol'),
      version: 1,
      document,
      warnings,
      created_at: now,
      updated_at: now,
      created_by: call.caller.key.id,
      updated_by: call.caller.key.id,
      policy_set: deps.policies.policySet + 1,
      deleted_at: null,
    }
    await writePolicy(deps, call, 'policy.created', policy)
    return viewPolicy(policy)
  })
}
