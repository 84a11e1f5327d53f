import type { Agent, AgentCreate, AgentUpdate, Capabilities, Page } from '@countersign/contract'
import { ApiError, call, get, post } from './client'

const PAGE_SIZE = 100

const pathOf = (id: string) => `/agents/${encodeURIComponent(id)}`

export const listAgents = (cursor: string | undefined, signal: AbortSignal): Promise<Page<Agent>> =>
  get('/agents', { query: { limit: PAGE_SIZE, cursor }, signal })

/** Null for an agent that was never registered, suspended or seen. @throws ApiError */
export async function getAgent(id: string): Promise<Agent | null> {
  try {
    return await get<Agent>(pathOf(id))
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

export const registerAgent = (agent: AgentCreate): Promise<Agent> => post('/agents', agent)

export const updateAgent = (id: string, body: AgentUpdate): Promise<Agent> => call('PUT', pathOf(id), { body })

export const deleteAgent = (id: string): Promise<void> => call('DELETE', pathOf(id))

export const suspendAgent = (id: string, reason: string | null): Promise<Agent> =>
  post(`${pathOf(id)}/suspend`, { reason })

export const resumeAgent = (id: string): Promise<Agent> => post(`${pathOf(id)}/resume`)

export const listCapabilities = (agent_id: string, actions: readonly string[]): Promise<Capabilities> =>
  post('/capabilities', { agent_id, actions })
