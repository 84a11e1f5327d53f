import { z } from 'zod'
import { DECISION_STATUSES, DecisionDetailSchema, DecisionSchema } from '../decision.js'
import { DecisionRequestSchema } from '../decision-request.js'
import { EFFECTS } from '../effect.js'
import { DecisionExplanationSchema } from '../explanation.js'
import { IdSchema, PolicyIdSchema } from '../id.js'
import { LIMITS } from '../limits.js'
import { ActionSchema, AgentIdSchema, ResourceSchema } from '../names.js'
import { QueryTimeSchema } from '../timestamp.js'
import { TraceIdSchema } from '../trace-id.js'
import { operation, page } from './operation.js'
import { queryNumber } from './query-number.js'

const params = { id: IdSchema('dec') }

const WaitSchema = queryNumber(0, 30, {
  error: 'must be a whole number of seconds from 0 to 30',
  description: 'Seconds to wait until the decision leaves `awaiting_review`. Default: 0.',
  default: 0,
})

export const DECISION_OPERATIONS = {
  'decisions.decide': operation('POST', '/v1/decisions', {
    summary: 'Decide whether an agent may run an action.',
    scopes: { all: ['decisions:write'] },
    takesKey: true,
    body: { schema: DecisionRequestSchema, maxBytes: LIMITS.decisionBodyBytes, maxDepth: LIMITS.decisionBodyDepth },
    answer: {
      status: 200,
      description: 'The decision, stored durably before the response. A denied request gets the same response.',
      schema: DecisionSchema,
      headers: {
        'Server-Timing': z
          .string()
          .optional()
          .meta({ description: 'Milliseconds spent on auth, eval, reserve, sign and store. Absent on a replay.' }),
      },
    },
    problems: ['agent_not_allowed', 'already_claimed', 'store_unavailable', 'budget_busy'],
  }),
  'decisions.list': page(
    '/v1/decisions',
    [DecisionDetailSchema, 'A page of decisions without permits.'],
    {
      summary: 'List decisions, newest first.',
      scopes: { all: ['decisions:read'] },
      problems: ['store_unavailable'],
    },
    {
      agent_id: AgentIdSchema.optional(),
      action: ActionSchema.optional(),
      resource: ResourceSchema.optional(),
      effect: z.enum(EFFECTS).optional(),
      status: z.enum(DECISION_STATUSES).optional(),
      policy_id: PolicyIdSchema.optional(),
      request_hash: z.string().length(43).optional(),
      trace_id: TraceIdSchema.optional(),
      from: QueryTimeSchema.optional().meta({ description: 'Inclusive, on `evaluated_at`.' }),
      to: QueryTimeSchema.optional().meta({ description: 'Exclusive.' }),
    },
  ),
  'decisions.get': operation('GET', '/v1/decisions/{id}', {
    summary: 'Read a decision with its current status.',
    scopes: { any: ['decisions:read', 'decisions:write'] },
    params,
    query: z.strictObject({ wait: WaitSchema.optional() }),
    answer: {
      status: 200,
      description: 'The decision. The key that requested it also gets the permit while the action may run.',
      schema: DecisionDetailSchema,
    },
    problems: ['not_found', 'store_unavailable'],
  }),
  'decisions.explanation': operation('GET', '/v1/decisions/{id}/explanation', {
    summary: 'Explain a decision by the policies and agent data of the time when it was made.',
    scopes: { all: ['decisions:read', 'policies:read'] },
    params,
    answer: { status: 200, description: 'The result of every policy and rule.', schema: DecisionExplanationSchema },
    problems: ['not_found', 'store_unavailable'],
  }),
}
