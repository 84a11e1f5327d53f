import type { Policy, PolicyDocument } from '@countersign/contract'
import { lintInParts } from '@countersign/engine'
import type { Caller } from '../../caller.js'
import type { StoredPolicy } from '../../ports/documents.js'
import type { Ids } from '../../ports/ids.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { inParts } from '../in-parts.js'
import { viewPolicy } from './view.js'
import { nameTaken, type WritePolicyDeps, writePolicy } from './write.js'

/**
 * Creates a policy; it counts for the next request.
 *
 * @param pause awaited between the parts of the check
 * @throws DomainError policy_name_taken
 */
export function createPolicy(
  deps: WritePolicyDeps & { readonly ids: Ids },
  caller: Caller,
  document: PolicyDocument,
  idempotency: IdempotencyDraft | null,
  pause: () => Promise<void>,
): Promise<Policy> {
  return deps.changes.run(caller.key.id, async () => {
    if (deps.policies.named(document.name) !== undefined) throw nameTaken(document.name)
    const warnings = await inParts(lintInParts(document, [...deps.policies.others(null)], null), pause)
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
    await writePolicy(deps, caller, 'policy.created', policy, idempotency?.(policy.id, 201, now) ?? null)
    return viewPolicy(policy)
  })
}
