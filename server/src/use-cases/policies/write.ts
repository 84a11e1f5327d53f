import { jsonHash } from '@countersign/audit-log'
import { DomainError } from '../../domain-error.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { StoredPolicy } from '../../ports/store/documents.js'
import { ConflictError } from '../../ports/store/store.js'
import type { Changes } from '../../state/changes.js'
import type { Policies } from '../../state/policies.js'
import type { ChangingCall } from '../idempotency.js'

export interface WritePolicyDeps {
  readonly clock: Clock
  readonly policies: Policies
  readonly writer: MutationWriter
  /** Runs changes of policies one at a time: each increments the same counter. */
  readonly changes: Changes
}

type PolicyAudit = 'policy.created' | 'policy.updated' | 'policy.deleted'

/**
 * Writes one revision of a policy, or its deletion, which applies from the next request on.
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
  const { document, version, policy_set } = policy
  // A deletion writes no document.
  const hash = policy.deleted_at === null ? { document_hash: jsonHash(document) } : {}
  const draft = {
    entry: {
      at,
      type,
      actor: caller.key.id,
      subject: policy.id,
      agent_id: null,
      trace_id: caller.traceId,
      data: { name: document.name, revision: version, policy_set, written_at: at, ...hash },
    },
    change: { kind: 'policy.write', policy, expected_version: policy.version - 1 } as const,
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
