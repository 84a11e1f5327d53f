import type { Policy, PolicyDocument } from '@countersign/contract'
import type { StoredPolicy } from '@countersign/store-port/documents'
import type { Caller } from '../../caller.js'
import type { Ids } from '../../ports/ids.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { viewPolicy } from './view.js'
import { nameTaken, writePolicy } from './write.js'
import { type WriteLintedDeps, writeLinted } from './write-linted.js'

/**
 * Creates a policy; it counts for the next request.
 *
 * @param pause awaited between the parts of the check
 * @throws DomainError policy_name_taken
 */
export function createPolicy(
  deps: WriteLintedDeps & { readonly ids: Ids },
  caller: Caller,
  document: PolicyDocument,
  idempotency: IdempotencyDraft | null,
  pause: () => Promise<void>,
): Promise<Policy> {
  return writeLinted(deps, caller, { document, id: null }, pause, async (warnings) => {
    if (deps.policies.named(document.name) !== undefined) throw nameTaken(document.name)
    const now = deps.clock.now().toISOString()
    const policy: StoredPolicy = {
      id: deps.ids.next('pol'),
      version: 1,
      document,
      warnings,
      created_at: now,
      updated_at: now,
      created_by: caller.key.id,
      updated_by: caller.key.id,
      policy_set: deps.policies.policySet + 1,
      deleted_at: null,
    }
    await writePolicy(deps, caller, 'policy.created', policy, idempotency?.recordOf(policy.id, 201, now) ?? null)
    return viewPolicy(policy)
  })
}
