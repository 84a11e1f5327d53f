import type { Agent, AgentUpdate } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { ChangingCall } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent, withRegistration } from './change.js'

/**
 * Replaces the registration of an agent. Absent members become empty.
 *
 * @throws DomainError not_found when the agent is not registered
 */
export function updateAgent(deps: ChangeAgentDeps, call: ChangingCall, id: string, given: AgentUpdate): Promise<Agent> {
  return changeAgent(deps, call, id, (present) => {
    if (present.registration === null) throw notRegistered()
    const { created_at } = present.registration
    return { type: 'agent.updated', ...withRegistration(present, given, created_at, deps.ids.salt()) }
  })
}

export function notRegistered(): DomainError {
  return new DomainError('not_found', { detail: 'The agent is not registered. Register it with POST /v1/agents.' })
}
