import { DomainError } from '../../domain-error.js'
import type { ChangingCall } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent } from './change.js'
import { notRegistered } from './update.js'

/**
 * Ends the registration of an agent. A suspended one keeps it, so that deleting cannot lift a suspension.
 *
 * @throws DomainError not_found, agent_suspended
 */
export async function deleteAgent(deps: ChangeAgentDeps, call: ChangingCall, id: string): Promise<void> {
  await changeAgent(deps, call, id, (present) => {
    if (present.suspended !== null) throw new DomainError('agent_suspended')
    if (present.registration === null) throw notRegistered()
    return { type: 'agent.deleted', next: { ...present, registration: null } }
  })
}
