import type { Caller } from '../../caller.js'
import { findPolicy } from './get.js'
import { type WritePolicyDeps, writePolicy } from './write.js'

/**
 * Deletes a policy: it decides nothing from then on and its name is free. Its revisions stay readable.
 *
 * @throws DomainError not_found
 */
export function deletePolicy(deps: WritePolicyDeps, caller: Caller, id: string): Promise<void> {
  return deps.changes.run(caller.key.id, async () => {
    const present = findPolicy(deps.policies, id)
    const deleted = {
      ...present,
      version: present.version + 1,
      policy_set: deps.policies.policySet + 1,
      updated_by: caller.key.id,
      deleted_at: deps.clock.now().toISOString(),
    }
    await writePolicy(deps, caller, 'policy.deleted', deleted, null)
  })
}
