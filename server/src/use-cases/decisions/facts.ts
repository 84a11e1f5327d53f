import type { DecisionRequest } from '@countersign/contract'
import type { EngineRequest, Facts } from '@countersign/engine'
import type { StoredAgent } from '../../ports/store/documents.js'

/** The caller's request, with absent members as null. */
export function toEngineRequest(request: DecisionRequest): EngineRequest {
  return {
    agent_id: request.agent_id,
    action: request.action,
    resource: request.resource ?? null,
    context: request.context ?? null,
  }
}

/** The server's own facts: the agent and the time. */
export function factsOf(agent: StoredAgent | undefined, now: Date): Facts {
  return { now, ...knownOf(agent) }
}

/** The server's own facts about the agent. */
export function knownOf(agent: StoredAgent | undefined): Omit<Facts, 'now'> {
  return {
    suspended: agent !== undefined && agent.suspended !== null,
    metadata: agent?.registration?.metadata ?? null,
  }
}
