import type { ChangingCall } from '../idempotency.js'
import { findRevision } from './get.js'
import { type WritePolicyDeps, writePolicy } from './write.js'

/**
 * Deletes a policy: it no longer decides, and its name is free. Its revisions stay readable.
 *
 * @param expected the accepted present revisions (`If-Match`); null for any
 * @throws DomainError not_found, revision_mismatch
 */
export function deletePolicy(
  deps: WritePolicyDeps,
  call: ChangingCall,
  id: string,
  expected: readonly string[] | null,
): Promise<void> {
  return deps.changes.run(call.caller.key.id, async () => {
    const present = findRevision(deps.policies, id, expected)
    const deleted = {
      ...present,
      version: present.version + 1,
      policy_set: deps.policies.policySet + 1,
      updated_by: call.caller.key.id,
      deleted_at: deps.clock.now().toISOString(),
    }
    await writePolicy(deps, call, 'policy.deleted', deleted)
  })
}
