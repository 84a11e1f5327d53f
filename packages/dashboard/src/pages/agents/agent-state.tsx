import type { Agent } from '@countersign/contract'
import { Badge } from '../../components/badges'

/** Suspended comes first: whatever else an agent is, then nothing is decided for it. */
export function AgentState({ agent }: { readonly agent: Pick<Agent, 'registered' | 'suspended' | 'first_seen'> }) {
  if (agent.suspended !== null) return <Badge tone="deny">SUSPENDED</Badge>
  if (agent.registered) return <Badge tone="allow">registered</Badge>
  return <Badge tone="quiet">{agent.first_seen === null ? 'not seen yet' : 'only seen'}</Badge>
}
