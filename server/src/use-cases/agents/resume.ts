import type { Agent } from '@countersign/contract'
import type { ChangingCall } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent } from './change.js'

/** Lifts a suspension. Does nothing to an agent that is not suspended. */
export function resumeAgent(deps: ChangeAgentDeps, call: ChangingCall, id: string): Promise<Agent> {
  return changeAgent(deps, call, id, (present) => ({
    type: 'agent.resumed',
    next: present.suspended === null ? null : { ...present, suspended: null },
  }))
}
