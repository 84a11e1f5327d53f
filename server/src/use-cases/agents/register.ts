import type { Agent, AgentCreate } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent, withRegistration } from './change.js'

/**
 * Registers an agent, so that policies can read its metadata.
 *
 * @throws DomainError agent_exists
 */
export function registerAgent(
  deps: ChangeAgentDeps,
  caller: Caller,
  { id, ...given }: AgentCreate,
  idempotency: IdempotencyDraft | null,
): Promise<Agent> {
  return changeAgent(
    deps,
    caller,
    id,
    (present, now) => {
      if (present.registration !== null) throw new DomainError('agent_exists')
      return { type: 'agent.created', ...withRegistration(present, given, now) }
    },
    idempotency && { draft: idempotency, status: 201 },
  )
}
