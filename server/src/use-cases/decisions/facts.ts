import type { DecisionRequest } from '@countersign/contract'
import type { EngineRequest, Facts } from '@countersign/engine'
import type { StoredAgent } from '@countersign/store-port/documents'

/** What the caller says, with absent members as null. */
export function toEngineRequest(request: DecisionRequest): EngineRequest {
  return {
    agent_id: request.agent_id,
    action: request.action,
    resource: request.resource ?? null,
    context: request.context ?? null,
  }
}

/** What we know of the agent ourselves, and the time. */
export function factsOf(agent: StoredAgent | undefined, now: Date): Facts {
  return { now, ...knownOf(agent) }
}

/** What we know of the agent ourselves. */
export function knownOf(agent: StoredAgent | undefined): Omit<Facts, 'now'> {
  return {
    suspended: agent !== undefined && agent.suspended !== null,
    metadata: agent?.registration?.metadata ?? null,
  }
}
