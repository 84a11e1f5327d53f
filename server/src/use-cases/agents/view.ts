import type { Agent } from '@countersign/contract'
import type { StoredAgent } from '@countersign/store-port/documents'
import type { AgentWithSightings } from '@countersign/store-port/store'

/** An agent as the API shows it. */
export function viewAgent({ agent, sightings }: AgentWithSightings): Agent {
  return {
    id: agent.id,
    name: agent.registration?.name ?? null,
    description: agent.registration?.description ?? null,
    metadata: agent.registration?.metadata ?? {},
    registered: agent.registration !== null,
    suspended: agent.suspended,
    first_seen: sightings.first_seen,
    last_seen: sightings.last_seen,
    created_at: agent.registration?.created_at ?? null,
  } as Agent
}

/** An agent that the store knows nothing of yet. */
export function unknownAgent(id: string, now: string): StoredAgent {
  return { id, version: 0, registration: null, last_revision: 0, suspended: null, known_at: now }
}
