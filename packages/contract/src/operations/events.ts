import { z } from 'zod'
import { DECISION_STATUSES } from '../decision.js'
import { EFFECTS } from '../effect.js'
import { LIVE_TYPES, LiveEventSchema, type LiveType } from '../event.js'
import { PolicyIdSchema } from '../id.js'
import { ActionSchema, AgentIdSchema, ResourceSchema } from '../names.js'
import { operation } from './operation.js'

const TypesSchema = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(LIVE_TYPES)))
  .transform((types): ReadonlySet<LiveType> => new Set(types))
  .meta({
    description: `One of ${LIVE_TYPES.map((type) => `\`${type}\``).join(', ')}, or several separated by commas. Default: all.`,
    override: { type: 'string', examples: ['decision.created,decision.approved'] },
  })

export const EVENT_OPERATIONS = {
  'events.stream': operation('GET', '/v1/events', {
    summary: 'Follow what happens to decisions, as server-sent events.',
    scopes: { all: ['decisions:read'] },
    query: z.strictObject({
      agent_id: AgentIdSchema.optional(),
      action: ActionSchema.optional(),
      resource: ResourceSchema.optional(),
      effect: z.enum(EFFECTS).optional(),
      status: z.enum(DECISION_STATUSES).optional().meta({ description: 'The status after the change.' }),
      policy_id: PolicyIdSchema.optional(),
      request_hash: z.string().length(43).optional(),
      type: TypesSchema.optional(),
      last_event_id: z
        .string()
        .optional()
        .meta({ description: 'The same as the header `Last-Event-ID`, for clients that cannot send it.' }),
    }),
    answer: {
      status: 200,
      description:
        'The changes of decisions, from now on or after `Last-Event-ID`, each once. The stream does not end by itself.',
      events: LiveEventSchema,
      headers: {
        'X-Accel-Buffering': z.literal('no').meta({ description: 'Asks proxies to pass on each event immediately.' }),
      },
    },
    problems: ['invalid_cursor', 'store_unavailable'],
  }),
}
