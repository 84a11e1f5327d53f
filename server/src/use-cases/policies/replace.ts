import type { Policy, PolicyDocument } from '@countersign/contract'
import type { StoredPolicy } from '../../ports/store/documents.js'
import { findRevision } from './get.js'
import { viewPolicy } from './view.js'
import { nameTaken, writePolicy } from './write.js'
import { type PolicyCall, type WriteLintedDeps, writeLinted } from './write-linted.js'

/**
 * Replaces a policy entirely; the new revision applies from the next request on.
 *
 * @param expected the accepted present revisions (`If-Match`); null for any
 * @throws DomainError not_found, revision_mismatch, policy_name_taken
 */
export function replacePolicy(
  deps: WriteLintedDeps,
  call: PolicyCall,
  id: string,
  document: PolicyDocument,
  expected: readonly string[] | null,
): Promise<Policy> {
  return writeLinted(deps, call, { document, id }, async (warnings) => {
    const present = findRevision(deps.policies, id, expected)
    const named = deps.policies.named(document.name)
    if (named !== undefined && named.id !== id) throw nameTaken(document.name)
    const policy: StoredPolicy = {
      ...present,
      version: present.version + 1,
      document,
      warnings,
      updated_at: deps.clock.now().toISOString(),
      updated_by: call.caller.key.id,
      policy_set: deps.policies.policySet + 1,
    }
    await writePolicy(deps, call, 'policy.updated', policy)
    return viewPolicy(policy)
  })
}
