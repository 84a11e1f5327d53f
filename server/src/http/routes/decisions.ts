import {
  ActionSchema,
  AgentIdSchema,
  CapabilitiesRequestSchema,
  CapabilitiesSchema,
  DECISION_STATUSES,
  DecisionDetailSchema,
  DecisionExplanationSchema,
  type DecisionRequest,
  DecisionRequestSchema,
  DecisionSchema,
  EFFECTS,
  LIMITS,
  PolicyIdSchema,
  pageOf,
  ResourceSchema,
  TimestampSchema,
} from '@countersign/contract'
import { requestHash } from '@countersign/permit'
import { z } from 'zod'
import { assertMaySpeakFor } from '../../caller.js'
import { type CapabilitiesDeps, listCapabilities } from '../../use-cases/decisions/capabilities.js'
import { type DecideDeps, decide } from '../../use-cases/decisions/decide.js'
import { type ExplainDecisionDeps, explainDecision } from '../../use-cases/decisions/explain.js'
import { awaitReview, type GetDecisionDeps, getDecision } from '../../use-cases/decisions/get.js'
import { type ListDecisionsDeps, listDecisions } from '../../use-cases/decisions/list.js'
import { replayDecision } from '../../use-cases/decisions/replay.js'
import type { Cursors } from '../cursor.js'
import { givenFilters } from '../filter.js'
import { pageQuery, replyPage } from '../pages.js'
import { queryNumber } from '../query-number.js'
import { type Route, route } from '../route.js'

const WaitSchema = queryNumber(0, 30, {
  error: 'must be a whole number of seconds from 0 to 30',
  description: 'Seconds to wait until the decision leaves `awaiting_review`; 0 when absent.',
  default: 0,
})

export type DecisionRouteDeps = DecideDeps &
  GetDecisionDeps &
  CapabilitiesDeps &
  ExplainDecisionDeps &
  ListDecisionsDeps & { readonly cursors: Cursors }

export function decisionRoutes(deps: DecisionRouteDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/decisions',
      name: 'decisions.decide',
      summary: 'Decide whether an agent may run an action.',
      scopes: { all: ['decisions:write'] },
      body: { schema: DecisionRequestSchema, maxBytes: LIMITS.decisionBodyBytes, maxDepth: LIMITS.decisionBodyDepth },
      answer: {
        status: 200,
        description: 'The decision, stored durably before the response. A denied request is answered the same way.',
        schema: DecisionSchema,
        headers: {
          'Server-Timing': z
            .string()
            .optional()
            .meta({ description: 'Milliseconds spent on auth, eval, reserve, sign and store. Absent on a replay.' }),
        },
      },
      problems: ['agent_not_allowed', 'already_claimed', 'store_unavailable', 'budget_busy'],
      replay: {
        fingerprint: requestHash,
        present: async ({ caller, body }, id) => ({
          body: await replayDecision(deps, caller, id, body.holder ?? null),
        }),
        assertAllowed: ({ caller, body }) => assertMaySpeakFor(caller, body.agent_id),
        looksBeforeTaking: true,
      },
      handle: async ({ caller, body, requestId, idempotency, fingerprint, authMs }) => {
        const request: DecisionRequest = body
        const input = { request, requestHash: fingerprint ?? requestHash(request), requestId, idempotency }
        const { decision, timings } = await decide(deps, caller, input)
        return {
          headers: { 'Server-Timing': serverTiming({ auth: authMs, ...timings }) },
          body: decision,
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/decisions',
      name: 'decisions.list',
      isLong: true,
      summary: 'List decisions, newest first.',
      scopes: { all: ['decisions:read'] },
      query: z.strictObject({
        ...pageQuery,
        agent_id: AgentIdSchema.optional(),
        action: ActionSchema.optional(),
        resource: ResourceSchema.optional(),
        effect: z.enum(EFFECTS).optional(),
        status: z.enum(DECISION_STATUSES).optional(),
        policy_id: PolicyIdSchema.optional(),
        request_hash: z.string().length(43).optional(),
        from: TimestampSchema.optional().meta({ description: 'Inclusive, on `evaluated_at`.' }),
        to: TimestampSchema.optional().meta({ description: 'Exclusive.' }),
      }),
      answer: {
        status: 200,
        description: 'A page of decisions without permits.',
        schema: pageOf(DecisionDetailSchema),
      },
      problems: ['invalid_cursor', 'store_unavailable'],
      handle: (call) => {
        const { limit, cursor, ...filter } = call.query
        return replyPage(deps.cursors, '/v1/decisions', call, (page) =>
          listDecisions(deps, call.caller, givenFilters(filter), page),
        )
      },
    }),
    route({
      method: 'GET',
      path: '/v1/decisions/{id}',
      name: 'decisions.get',
      summary: 'Read a decision with its current status.',
      scopes: { any: ['decisions:read', 'decisions:write'] },
      query: z.strictObject({ wait: WaitSchema.optional() }),
      answer: {
        status: 200,
        description: 'The decision. The key that requested it also gets the permit while the action may run.',
        schema: DecisionDetailSchema,
      },
      problems: ['not_found', 'store_unavailable'],
      longPoll: {
        ms: ({ query }) => (query.wait ?? 0) * 1000,
        wait: ({ caller, params, isWanted }, waitMs) =>
          awaitReview(deps, caller, params.id as string, { waitMs, isWanted }),
      },
      handle: async ({ caller, params }) => ({
        body: await getDecision(deps, caller, params.id as string),
      }),
    }),
    route({
      method: 'GET',
      path: '/v1/decisions/{id}/explanation',
      name: 'decisions.explanation',
      isLong: true,
      summary: 'Explain a decision by the policies and agent data of the time when it was made.',
      scopes: { all: ['decisions:read', 'policies:read'] },
      answer: { status: 200, description: 'The result of every policy and rule.', schema: DecisionExplanationSchema },
      problems: ['not_found', 'store_unavailable'],
      handle: async ({ caller, params, pause }) => ({
        body: await explainDecision(deps, caller, params.id as string, pause),
      }),
    }),
    route({
      method: 'POST',
      path: '/v1/capabilities',
      name: 'decisions.capabilities',
      isLong: true,
      summary: 'List the effects that an agent can get for each of the given actions.',
      scopes: { all: ['decisions:write'] },
      body: { schema: CapabilitiesRequestSchema, maxBytes: LIMITS.bodyBytes, maxDepth: LIMITS.bodyDepth },
      answer: {
        status: 200,
        description:
          'The effects that requests of the agent can get under the current policies, for any resource, context, time and budget. Nothing is decided or recorded.',
        schema: CapabilitiesSchema,
      },
      problems: ['agent_not_allowed'],
      handle: async ({ caller, body, pause }) => ({
        body: await listCapabilities(deps, caller, body, pause),
      }),
    }),
  ]
}

function serverTiming(milliseconds: Readonly<Record<string, number>>): string {
  return Object.entries(milliseconds)
    .map(([name, duration]) => `${name};dur=${duration.toFixed(3)}`)
    .join(', ')
}
