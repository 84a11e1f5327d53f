import type { Agent } from '@countersign/contract'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'

export const agentKey = (id: string) => ['agents', id] as const
/** Separate from `agents`, which live events refresh each second: the list is too long for that. */
export const AGENT_LIST_KEY = ['agent-list'] as const
export const capabilitiesKey = (id: string) => ['capabilities', id] as const

/** Updates every page that shows an agent. */
export function useChangedAgent(): (agent: Agent) => void {
  const client = useQueryClient()
  return useCallback(
    (agent) => {
      client.setQueryData(agentKey(agent.id), agent)
      forgetAgent(client, agent.id)
    },
    [client],
  )
}

export function forgetAgent(client: QueryClient, id: string): void {
  for (const queryKey of [agentKey(id), AGENT_LIST_KEY, capabilitiesKey(id), ['decisions'], ['reviews']])
    void client.invalidateQueries({ queryKey })
}
