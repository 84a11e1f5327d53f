import type { Agent, Suspend } from '@countersign/contract'
import type { ChangingCall } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent } from './change.js'

/** The kill switch: once this resolves, every request of the agent is denied. An existing suspension stays unchanged. */
export function suspendAgent(
  deps: ChangeAgentDeps,
  call: ChangingCall,
  id: string,
  { reason = null }: Suspend,
): Promise<Agent> {
  return changeAgent(deps, call, id, (present, now) => ({
    type: 'agent.suspended',
    next: present.suspended === null ? { ...present, suspended: { at: now, by: call.caller.key.id, reason } } : null,
    data: { reason },
  }))
}
