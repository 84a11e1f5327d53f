import { type Agent, type EventAgent, LIMITS } from '@countersign/contract'
import type { AgentWithLastSeen } from '../../ports/store/agents.js'
import { firstWithin } from '../first-within.js'

/** An agent as the API shows it. */
export function viewAgent({ agent, lastSeen }: AgentWithLastSeen): Agent {
  return {
    id: agent.id,
    name: agent.registration?.name ?? null,
    description: agent.registration?.description ?? null,
    metadata: agent.registration?.metadata ?? {},
    registered: agent.registration !== null,
    suspended: agent.suspended,
    first_seen: lastSeen.first_seen,
    last_seen: lastSeen.last_seen,
    created_at: agent.registration?.created_at ?? null,
  } as Agent
}

/** An agent that the store does not know yet. */
export function unknownAgent(id: string, now: string): AgentWithLastSeen {
  return {
    agent: { id, version: 0, registration: null, last_revision: 0, suspended: null, known_at: now },
    lastSeen: { first_seen: null, last_seen: null },
  }
}

/** An agent as events show it, with large metadata cut to a limit. */
export function viewEventAgent(agent: AgentWithLastSeen): EventAgent {
  const view = viewAgent(agent)
  const { first, omitted } = firstWithin(Object.entries(view.metadata), LIMITS.eventLargestBytes)
  return { ...view, ...(omitted > 0 && { metadata: Object.fromEntries(first), metadata_omitted: omitted }) }
}
