import { withDeadline } from '@countersign/concurrency'
import { STATS_GROUPS, STATS_INTERVALS, StatsSchema, TimestampSchema } from '@countersign/contract'
import { z } from 'zod'
import { type GetStatsDeps, getStats } from '../../use-cases/stats/get.js'
import { type Route, route } from '../route.js'

/** The answer waits for so long for what is not counted yet. Then it is what there is, and says how much is missing. */
const CATCH_UP_MS = 2000

export interface StatsRouteDeps extends GetStatsDeps {
  readonly feed: { readonly catchUpStatistics: () => Promise<void> }
}

export function statsRoutes(deps: StatsRouteDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/stats',
      name: 'stats.get',
      isLong: true,
      summary: 'Count decisions by time, effect, action, agent or policy, with latencies and the money of budgets.',
      scopes: { all: ['decisions:read'] },
      query: z.strictObject({
        from: TimestampSchema.optional().meta({
          description:
            'Inclusive; the bucket that it is in counts as a whole. 60 minutes, 24 hours or 30 days before `to` when absent.',
        }),
        to: TimestampSchema.optional().meta({
          description: 'Exclusive; the bucket that it is in counts as a whole. Now when absent.',
        }),
        interval: z.enum(STATS_INTERVALS).optional().meta({ description: '`hour` when absent.' }),
        group: z.enum(STATS_GROUPS).optional().meta({
          description:
            'One row for each value in each bucket. A key that is bound to agents can only group by `agent`.',
        }),
      }),
      answer: { status: 200, description: 'Counts of the time span.', schema: StatsSchema },
      problems: ['store_unavailable'],
      handle: async ({ caller, query, pause }) => {
        await catchUp(deps)
        return { body: await getStats(deps, caller, query, pause) }
      },
    }),
  ]
}

async function catchUp({ feed }: StatsRouteDeps): Promise<void> {
  // Whatever fails there, what is counted can be read, and the answer says that it is not all.
  await withDeadline(feed.catchUpStatistics(), CATCH_UP_MS, () => new Error('The statistics are behind.')).catch(
    () => {},
  )
}
