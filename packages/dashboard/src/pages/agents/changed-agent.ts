import type { Agent } from '@countersign/contract'
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'

export const agentKey = (id: string) => ['agents', id] as const
/** Apart from `agents`: live events would have the whole list read again each second. */
export const AGENT_LIST_KEY = ['agent-list'] as const
export const capabilitiesKey = (id: string) => ['capabilities', id] as const

/** Has every page show an agent as it is now. */
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
