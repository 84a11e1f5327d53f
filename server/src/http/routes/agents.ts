import { AgentIdSchema } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { Store } from '../../ports/store/store.js'
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
import { replyPage } from '../pages.js'
import { type Call, routesOf } from '../route.js'

export type AgentRouteDeps = ChangeAgentDeps & { readonly store: Pick<Store, 'agents'>; readonly cursors: Cursors }

export function agentRoutes(deps: AgentRouteDeps) {
  const replay = { present: async (_call: Call, id: string) => ({ body: await replayAgent(deps, id) }) }
  return routesOf({
    'agents.create': {
      isChange: true,
      replay,
      handle: async (call) => ({ body: await registerAgent(deps, call, call.body) }),
    },
    'agents.list': {
      handle: (call) => replyPage(deps.cursors, call, (page) => listAgents(deps, call.caller, page)),
    },
    'agents.get': { handle: async ({ caller, params }) => ({ body: await getAgent(deps, caller, params.id) }) },
    'agents.update': {
      isChange: true,
      handle: async (call) => ({ body: await updateAgent(deps, call, call.params.id, call.body) }),
    },
    'agents.delete': {
      isChange: true,
      handle: async (call) => {
        await deleteAgent(deps, call, call.params.id)
        return {}
      },
    },
    'agents.suspend': {
      isChange: true,
      replay,
      handle: async (call) => ({ body: await suspendAgent(deps, call, agentIdOf(call.params), call.body) }),
    },
    'agents.resume': {
      isChange: true,
      replay,
      handle: async (call) => ({ body: await resumeAgent(deps, call, agentIdOf(call.params)) }),
    },
  })
}

/** Suspending accepts any valid agent id, even one that was never seen. @throws DomainError not_found */
function agentIdOf(params: Readonly<Record<string, string>>): string {
  const checked = AgentIdSchema.safeParse(params.id)
  if (!checked.success) throw new DomainError('not_found', { detail: 'This is not a valid agent id.' })
  return checked.data
}
