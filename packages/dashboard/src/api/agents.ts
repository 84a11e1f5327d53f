import type { Agent, AgentCreate, AgentUpdate, Capabilities, Page } from '@countersign/contract'
import { ApiError, call } from './client'

const PAGE_SIZE = 100

export const listAgents = (cursor: string | undefined, signal: AbortSignal): Promise<Page<Agent>> =>
  call('agents.list', { query: { limit: PAGE_SIZE, cursor }, signal })

/** Returns null for an agent that was never registered, suspended or seen. @throws ApiError */
export async function getAgent(id: string): Promise<Agent | null> {
  try {
    return await call('agents.get', { params: { id } })
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

export const registerAgent = (agent: AgentCreate): Promise<Agent> => call('agents.create', { body: agent })

export const updateAgent = (id: string, body: AgentUpdate): Promise<Agent> =>
  call('agents.update', { params: { id }, body })

export const deleteAgent = (id: string): Promise<void> => call('agents.delete', { params: { id } })

export const suspendAgent = (id: string, reason: string | null): Promise<Agent> =>
  call('agents.suspend', { params: { id }, body: { reason } })

export const resumeAgent = (id: string): Promise<Agent> => call('agents.resume', { params: { id }, body: {} })

export const listCapabilities = (agent_id: string, actions: readonly string[]): Promise<Capabilities> =>
  call('decisions.capabilities', { body: { agent_id, actions } })
