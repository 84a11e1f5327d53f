import { z } from 'zod'
import { STATS_GROUPS, STATS_INTERVALS, StatsSchema } from '../stats.js'
import { QueryTimeSchema } from '../timestamp.js'
import { operation } from './operation.js'

export const STATS_OPERATIONS = {
  'stats.get': operation('GET', '/v1/stats', {
    summary: 'Count decisions by time, effect, action, agent or policy, with latencies and budget amounts.',
    scopes: { all: ['decisions:read'] },
    query: z.strictObject({
      from: QueryTimeSchema.optional().meta({
        description: 'Inclusive; its bucket counts as a whole. Default: 60 minutes, 24 hours or 30 days before `to`.',
      }),
      to: QueryTimeSchema.optional().meta({
        description: 'Exclusive; its bucket counts as a whole. Default: now.',
      }),
      interval: z.enum(STATS_INTERVALS).optional().meta({ description: 'Default: `hour`.' }),
      group: z.enum(STATS_GROUPS).optional().meta({
        description: 'One row for each value in each bucket. A key that is bound to agents can only group by `agent`.',
      }),
    }),
    answer: { status: 200, description: 'Counts of the time span.', schema: StatsSchema },
    problems: ['store_unavailable'],
  }),
}
