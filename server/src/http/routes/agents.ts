import {
  AgentCreateSchema,
  AgentIdSchema,
  AgentSchema,
  AgentUpdateSchema,
  LIMITS,
  pageOf,
  SuspendSchema,
} from '@countersign/contract'
import type { Store } from '@countersign/store-port/store'
import { z } from 'zod'
import { DomainError } from '../../domain-error.js'
import type { ChangeAgentDeps } from '../../use-cases/agents/change.js'
import { deleteAgent } from '../../use-cases/agents/delete.js'
import { getAgent } from '../../use-cases/agents/get.js'
import { listAgents } from '../../use-cases/agents/list.js'
import { registerAgent } from '../../use-cases/agents/register.js'
import { replayAgent } from '../../use-cases/agents/replay.js'
import { resumeAgent } from '../../use-cases/agents/resume.js'
import { suspendAgent } from '../../use-cases/agents/suspend.js'
import { updateAgent } from '../../use-cases/agents/update.js'
import type { Cursors } from '../cursor.js'
import { pageQuery, replyPage } from '../pages.js'
import { type Call, type Route, route } from '../route.js'

export type AgentRouteDeps = ChangeAgentDeps & { readonly store: Pick<Store, 'listAgents'>; readonly cursors: Cursors }

const size = { maxBytes: LIMITS.bodyBytes, maxDepth: LIMITS.bodyDepth }

export function agentRoutes(deps: AgentRouteDeps): Route[] {
  const replay = { present: async (_call: Call, id: string) => ({ body: await replayAgent(deps, id) }) }
  return [
    route({
      method: 'POST',
      path: '/v1/agents',
      name: 'agents.create',
      isChange: true,
      summary: 'Register an agent, so that policies can read its metadata.',
      scopes: { all: ['agents:write'] },
      body: { schema: AgentCreateSchema, ...size },
      answer: { status: 201, description: 'The agent.', schema: AgentSchema },
      problems: ['agent_exists', 'store_unavailable'],
      replay,
      handle: async (call) => ({ body: await registerAgent(deps, call, call.body) }),
    }),
    route({
      method: 'GET',
      path: '/v1/agents',
      name: 'agents.list',
      isLong: true,
      summary: 'List agents that have been registered, suspended or seen in a request, newest first.',
      scopes: { all: ['agents:read'] },
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'A page of agents.', schema: pageOf(AgentSchema) },
      problems: ['invalid_cursor', 'store_unavailable'],
      handle: (call) => replyPage(deps.cursors, '/v1/agents', call, (page) => listAgents(deps, call.caller, page)),
    }),
    route({
      method: 'GET',
      path: '/v1/agents/{id}',
      name: 'agents.get',
      summary: 'Read an agent.',
      scopes: { all: ['agents:read'] },
      answer: { status: 200, description: 'The agent.', schema: AgentSchema },
      problems: ['not_found', 'store_unavailable'],
      handle: async ({ caller, params }) => ({ body: await getAgent(deps, caller, params.id as string) }),
    }),
    route({
      method: 'PUT',
      path: '/v1/agents/{id}',
      name: 'agents.update',
      isChange: true,
      summary: 'Replace the registration of an agent.',
      scopes: { all: ['agents:write'] },
      body: { schema: AgentUpdateSchema, ...size },
      answer: { status: 200, description: 'The agent.', schema: AgentSchema },
      problems: ['not_found', 'store_unavailable'],
      handle: async (call) => ({ body: await updateAgent(deps, call, call.params.id as string, call.body) }),
    }),
    route({
      method: 'DELETE',
      path: '/v1/agents/{id}',
      name: 'agents.delete',
      isChange: true,
      summary: 'Delete the registration of an agent.',
      scopes: { all: ['agents:write'] },
      answer: { status: 204, description: 'The registration was deleted.' },
      problems: ['not_found', 'agent_suspended', 'store_unavailable'],
      handle: async (call) => {
        await deleteAgent(deps, call, call.params.id as string)
        return {}
      },
    }),
    route({
      method: 'POST',
      path: '/v1/agents/{id}/suspend',
      name: 'agents.suspend',
      isChange: true,
      summary: 'Suspend an agent (kill switch). After the response, every request of the agent is denied.',
      scopes: { all: ['agents:write'] },
      body: { schema: SuspendSchema, ...size, mayBeEmpty: true },
      answer: { status: 200, description: 'The agent.', schema: AgentSchema },
      problems: ['not_found', 'store_unavailable'],
      replay,
      handle: async (call) => ({ body: await suspendAgent(deps, call, agentIdOf(call.params), call.body) }),
    }),
    route({
      method: 'POST',
      path: '/v1/agents/{id}/resume',
      name: 'agents.resume',
      isChange: true,
      summary: 'Resume a suspended agent.',
      scopes: { all: ['agents:write'] },
      body: { schema: z.strictObject({}).meta({ id: 'Resume', title: 'Resumption' }), ...size, mayBeEmpty: true },
      answer: { status: 200, description: 'The agent.', schema: AgentSchema },
      problems: ['not_found', 'store_unavailable'],
      replay,
      handle: async (call) => ({ body: await resumeAgent(deps, call, agentIdOf(call.params)) }),
    }),
  ]
}

/** Suspending takes any id that an agent can have, also one never seen. @throws DomainError not_found */
function agentIdOf(params: Readonly<Record<string, string>>): string {
  const checked = AgentIdSchema.safeParse(params.id)
  if (!checked.success) throw new DomainError('not_found', { detail: 'This is not a valid agent id.' })
  return checked.data
}
