import { withDeadline } from '../../concurrency/with-deadline.js'
import { type GetStatsDeps, getStats } from '../../use-cases/stats/get.js'
import { routesOf } from '../route.js'

/**
 * How long the answer waits for uncounted entries. After that it contains the counts so far and the number of missing
 * entries.
 */
const CATCH_UP_MS = 2000

export interface StatsRouteDeps extends GetStatsDeps {
  readonly feed: { readonly catchUpStatistics: () => Promise<void> }
}

export function statsRoutes(deps: StatsRouteDeps) {
  return routesOf({
    'stats.get': {
      isLong: true,
      handle: async ({ caller, query, pause, outside }) => {
        await outside(() => catchUp(deps))
        return { body: await getStats(deps, caller, query, pause) }
      },
    },
  })
}

async function catchUp({ feed }: StatsRouteDeps): Promise<void> {
  // A failure here is harmless: the counts can still be read, and the answer says that they are incomplete.
  await withDeadline(feed.catchUpStatistics(), CATCH_UP_MS, () => new Error('The statistics are behind.')).catch(
    () => {},
  )
}
