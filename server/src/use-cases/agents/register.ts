import type { Agent, AgentCreate } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { ChangingCall } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent, withRegistration } from './change.js'

/**
 * Registers an agent, so that policies can read its metadata.
 *
 * @throws DomainError agent_exists
 */
export function registerAgent(
  deps: ChangeAgentDeps,
  call: ChangingCall,
  { id, ...given }: AgentCreate,
): Promise<Agent> {
  return changeAgent(deps, call, id, (present, now) => {
    if (present.registration !== null) throw new DomainError('agent_exists')
    return { type: 'agent.created', ...withRegistration(present, given, now, deps.ids.salt()) }
  })
}
