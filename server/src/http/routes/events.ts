import {
  ActionSchema,
  AgentIdSchema,
  DECISION_STATUSES,
  EFFECTS,
  LIVE_TYPES,
  LiveEventSchema,
  type LiveType,
  PolicyIdSchema,
  ResourceSchema,
} from '@countersign/contract'
import type { Positions } from '@countersign/store-port/feed'
import { z } from 'zod'
import type { LiveEvents } from '../../state/live-events.js'
import type { Cursors } from '../cursor.js'
import { givenFilters } from '../filter.js'
import { type Route, route } from '../route.js'

const PATH = '/v1/events'

/** The id of an event is a cursor of the one stream that all have a part of: it fits any filters, and any key. */
export function eventIds(cursors: Cursors): (positions: Positions) => string {
  return (positions) => cursors.seal(PATH, JSON.stringify(Object.entries(positions)))
}

/** @throws DomainError invalid_cursor */
function positionsOf(cursors: Cursors, id: string): Positions {
  return Object.fromEntries(JSON.parse(cursors.open(PATH, id)) as [log: string, nextIndex: number][])
}

const TypesSchema = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(LIVE_TYPES)))
  .transform((types): ReadonlySet<LiveType> => new Set(types))
  .meta({
    description: `One of ${LIVE_TYPES.map((type) => `\`${type}\``).join(', ')}, or several separated by commas; all when absent.`,
    override: { type: 'string', examples: ['decision.created,decision.approved'] },
  })

export function eventRoutes(deps: { readonly liveEvents: LiveEvents; readonly cursors: Cursors }): Route[] {
  return [
    route({
      method: 'GET',
      path: PATH,
      name: 'events.stream',
      isUnbounded: true,
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
          .meta({ description: 'As the header `Last-Event-ID`, for clients that cannot send it.' }),
      }),
      answer: {
        status: 200,
        description: 'The changes of decisions from now on, or from behind `Last-Event-ID`, each once. It has no end.',
        events: LiveEventSchema,
        headers: {
          'X-Accel-Buffering': z.literal('no').meta({ description: 'Asks a proxy to pass each event on at once.' }),
        },
      },
      problems: ['invalid_cursor', 'store_unavailable'],
      handle: async ({ caller, query, lastEventId, callerNow, signal }) => {
        const { type, last_event_id, ...filters } = query
        const cursor = lastEventId ?? last_event_id
        const stream = await deps.liveEvents.open({
          keyId: caller.key.id,
          callerNow,
          filter: givenFilters({ ...filters, types: type }),
          from: cursor === undefined ? null : positionsOf(deps.cursors, cursor),
          signal: signal(),
        })
        return {
          headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' },
          stream: stream.chunks(),
          cutOff: stream.cutOff,
        }
      },
    }),
  ]
}
