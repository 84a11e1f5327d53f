import type { StoredPolicy } from '@countersign/store-port/documents'
import { ConflictError } from '@countersign/store-port/store'
import { DomainError } from '../../domain-error.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { Changes } from '../../state/changes.js'
import type { Policies } from '../../state/policies.js'
import type { ChangingCall } from '../idempotency.js'

export interface WritePolicyDeps {
  readonly clock: Clock
  readonly policies: Policies
  readonly writer: MutationWriter
  /** Changes of policies happen one after the other: each raises the same counter. */
  readonly changes: Changes
}

type PolicyAudit = 'policy.created' | 'policy.updated' | 'policy.deleted'

/**
 * Writes one revision of a policy, or its deletion, and makes it count for the next request.
 *
 * @throws DomainError policy_name_taken
 */
export async function writePolicy(
  deps: WritePolicyDeps,
  { caller, idempotency }: ChangingCall,
  type: PolicyAudit,
  policy: StoredPolicy,
): Promise<void> {
  const at = policy.deleted_at ?? policy.updated_at
  const draft = {
    entry: {
      at,
      type,
      actor: caller.key.id,
      subject: policy.id,
      agent_id: null,
      data: { name: policy.document.name, revision: policy.version, policy_set: policy.policy_set },
    },
    change: () => ({ kind: 'policy.write', policy, expected_version: policy.version - 1 }) as const,
    idempotency: idempotency?.recordOf(policy.id, at) ?? null,
  }
  await deps.writer.write(draft).catch((error: unknown) => {
    if (error instanceof ConflictError && error.conflict === 'policy_name') throw nameTaken(policy.document.name, error)
    throw error
  })
  deps.policies.apply(policy)
}

export function nameTaken(name: string, cause?: ConflictError): DomainError {
  return new DomainError('policy_name_taken', {
    detail: `A policy named ${JSON.stringify(name)} already exists.`,
    cause,
  })
}
