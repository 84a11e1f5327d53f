import { AgentCreateSchema, AgentSchema, AgentUpdateSchema, SuspendSchema } from '../agent.js'
import { AgentIdSchema } from '../names.js'
import { bodyOf, emptyBody, operation, page } from './operation.js'

const READ = { all: ['agents:read'] } as const
const WRITE = { all: ['agents:write'] } as const
const params = { id: AgentIdSchema }
const answer = { status: 200, description: 'The agent.', schema: AgentSchema } as const

export const AGENT_OPERATIONS = {
  'agents.create': operation('POST', '/v1/agents', {
    summary: 'Register an agent, so that policies can read its metadata.',
    scopes: WRITE,
    takesKey: true,
    body: bodyOf(AgentCreateSchema),
    answer: { ...answer, status: 201 },
    problems: ['agent_exists', 'store_unavailable'],
  }),
  'agents.list': page('/v1/agents', [AgentSchema, 'A page of agents.'], {
    summary: 'List agents that have been registered, suspended or seen in a request, newest first.',
    scopes: READ,
    problems: ['store_unavailable'],
  }),
  'agents.get': operation('GET', '/v1/agents/{id}', {
    summary: 'Read an agent.',
    scopes: READ,
    params,
    answer,
    problems: ['not_found', 'store_unavailable'],
  }),
  'agents.update': operation('PUT', '/v1/agents/{id}', {
    summary: 'Replace the registration of an agent.',
    scopes: WRITE,
    params,
    body: bodyOf(AgentUpdateSchema),
    answer,
    problems: ['not_found', 'store_unavailable'],
  }),
  'agents.delete': operation('DELETE', '/v1/agents/{id}', {
    summary: 'Delete the registration of an agent.',
    scopes: WRITE,
    params,
    answer: { status: 204, description: 'The registration was deleted.' },
    problems: ['not_found', 'agent_suspended', 'store_unavailable'],
  }),
  'agents.suspend': operation('POST', '/v1/agents/{id}/suspend', {
    summary: 'Suspend an agent (kill switch). After the response, every request of the agent is denied.',
    scopes: WRITE,
    takesKey: true,
    params,
    body: { ...bodyOf(SuspendSchema), mayBeEmpty: true },
    answer,
    problems: ['not_found', 'store_unavailable'],
  }),
  'agents.resume': operation('POST', '/v1/agents/{id}/resume', {
    summary: 'Resume a suspended agent.',
    scopes: WRITE,
    takesKey: true,
    params,
    body: emptyBody('Resume', 'Resumption'),
    answer,
    problems: ['not_found', 'store_unavailable'],
  }),
}
