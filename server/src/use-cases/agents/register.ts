import type { Agent, AgentCreate } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent } from './change.js'

/**
 * Registers an agent, so that policies can read its metadata.
 *
 * @throws DomainError agent_exists
 */
export function registerAgent(
  deps: ChangeAgentDeps,
  caller: Caller,
  { id, name, description, metadata }: AgentCreate,
  idempotency: IdempotencyDraft | null,
): Promise<Agent> {
  return changeAgent(
    deps,
    caller,
    id,
    (present, now) => {
      if (present.registration !== null) throw new DomainError('agent_exists')
      const revision = present.last_revision + 1
      const registration = {
        revision,
        name: name ?? null,
        description: description ?? null,
        metadata: metadata ?? {},
        created_at: now,
      }
      return { type: 'agent.created', next: { ...present, registration, last_revision: revision }, data: { revision } }
    },
    idempotency && { draft: idempotency, status: 201 },
  )
}
