import type { LiveEvents } from '../../state/live-events.js'
import type { EventIds } from '../event-ids.js'
import { givenFilters } from '../pages.js'
import { routesOf } from '../route.js'

export const EVENT_STREAM_HEADERS = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }

export interface EventRouteDeps {
  readonly liveEvents: LiveEvents
  readonly eventIds: EventIds
}

export function eventRoutes(deps: EventRouteDeps) {
  return routesOf({
    'events.stream': {
      isUnbounded: true,
      handle: async ({ caller, query, lastEventId, callerNow, signal }) => {
        const { type, last_event_id, ...filters } = query
        const cursor = lastEventId ?? last_event_id
        const stream = await deps.liveEvents.open({
          keyId: caller.key.id,
          callerNow,
          filter: givenFilters({ ...filters, types: type }),
          from: cursor === undefined ? null : deps.eventIds.open(cursor),
          signal: signal(),
        })
        return {
          headers: EVENT_STREAM_HEADERS,
          stream: stream.chunks(),
          cutOff: stream.cutOff,
        }
      },
    },
  })
}
