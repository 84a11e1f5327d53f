import type { DecisionRequest } from '@countersign/contract'
import { requestHash } from '@countersign/permit'
import { assertMaySpeakFor } from '../../caller.js'
import { type CapabilitiesDeps, listCapabilities } from '../../use-cases/decisions/capabilities.js'
import { type DecideDeps, decide } from '../../use-cases/decisions/decide.js'
import { type ExplainDecisionDeps, explainDecision } from '../../use-cases/decisions/explain.js'
import { awaitReview, type GetDecisionDeps, getDecision } from '../../use-cases/decisions/get.js'
import { type ListDecisionsDeps, listDecisions } from '../../use-cases/decisions/list.js'
import { replayDecision } from '../../use-cases/decisions/replay.js'
import type { Cursors } from '../cursor.js'
import { givenFilters, replyPage } from '../pages.js'
import { routesOf } from '../route.js'

export type DecisionRouteDeps = DecideDeps &
  GetDecisionDeps &
  CapabilitiesDeps &
  ExplainDecisionDeps &
  ListDecisionsDeps & { readonly cursors: Cursors }

export function decisionRoutes(deps: DecisionRouteDeps) {
  return routesOf({
    'decisions.decide': {
      replay: {
        fingerprint: requestHash,
        present: async ({ caller, body }, id) => ({
          body: await replayDecision(deps, caller, id, body.holder ?? null),
        }),
        assertAllowed: ({ caller, body }) => assertMaySpeakFor(caller, body.agent_id),
        looksBeforeTaking: true,
      },
      handle: async (call) => {
        const request: DecisionRequest = call.body
        const { decision, timings } = await decide(deps, call, request, call.fingerprint ?? requestHash(request))
        return {
          headers: { 'Server-Timing': serverTiming({ auth: call.authMs, ...timings }) },
          body: decision,
        }
      },
    },
    'decisions.list': {
      handle: (call) => {
        const { limit, cursor, ...filter } = call.query
        return replyPage(deps.cursors, call, (page) => listDecisions(deps, call.caller, givenFilters(filter), page))
      },
    },
    'decisions.get': {
      longPoll: {
        ms: ({ query }) => (query.wait ?? 0) * 1000,
        wait: ({ caller, params, isWanted }, waitMs) => awaitReview(deps, caller, params.id, { waitMs, isWanted }),
      },
      handle: async ({ caller, params }) => ({
        body: await getDecision(deps, caller, params.id),
      }),
    },
    'decisions.explanation': {
      isLong: true,
      handle: async ({ caller, params, pause }) => ({
        body: await explainDecision(deps, caller, params.id, pause),
      }),
    },
    'decisions.capabilities': {
      isLong: true,
      handle: async ({ caller, body, pause }) => ({
        body: await listCapabilities(deps, caller, body, pause),
      }),
    },
  })
}

function serverTiming(milliseconds: Readonly<Record<string, number>>): string {
  return Object.entries(milliseconds)
    .map(([name, duration]) => `${name};dur=${duration.toFixed(3)}`)
    .join(', ')
}
