import type { LiveEvent } from '@countersign/contract'
import type { Positions } from './store/feed.js'

export interface ErasedRequest {
  readonly decision_id: string
  readonly erased_at: string
}

/** Live events in the order in which a source found them. */
export interface LivePage {
  readonly events: readonly {
    readonly event: LiveEvent
    /** The position of the event's entry. An entry has at most one live event. */
    readonly log: string
    readonly index: number
    /** The positions after this event and everything before it. */
    readonly positions: Positions
  }[]
  /** Requests that were erased since. Earlier events of these decisions may contain them. */
  readonly erased: readonly ErasedRequest[]
  /** The positions after everything that was read, including entries without a live event. */
  readonly positions: Positions
}

/** Finds live events in the logs. */
export interface LiveSource {
  /**
   * Reads the live events after these positions, oldest first, from at most `limit` entries. Null: reads none, and
   * returns the present end.
   *
   * @throws StoreUnavailableError
   */
  readEvents(from: Positions | null, limit: number): Promise<LivePage>
}
