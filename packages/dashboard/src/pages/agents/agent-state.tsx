import type { Agent } from '@countersign/contract'
import { Badge } from '../../components/badges'

/** Suspension comes first, because it overrides everything else about an agent. */
export function AgentState({ agent }: { readonly agent: Pick<Agent, 'registered' | 'suspended' | 'first_seen'> }) {
  if (agent.suspended !== null) return <Badge tone="deny">SUSPENDED</Badge>
  if (agent.registered) return <Badge tone="allow">registered</Badge>
  return <Badge tone="quiet">{agent.first_seen === null ? 'not seen yet' : 'seen only'}</Badge>
}
