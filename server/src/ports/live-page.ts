import type { LiveEvent } from '@countersign/contract'
import type { Positions } from '@countersign/store-port/feed'

export interface ErasedRequest {
  readonly decision_id: string
  readonly erased_at: string
}

/** Live events in the order in which a source found them. */
export interface LivePage {
  readonly events: readonly {
    readonly event: LiveEvent
    /** Where the entry is that tells of it. An entry has at most one live event. */
    readonly log: string
    readonly index: number
    /** Behind this event and all before it. */
    readonly positions: Positions
  }[]
  /** Requests that were erased meanwhile. What was made before of the events of these decisions may hold them. */
  readonly erased: readonly ErasedRequest[]
  /** Behind all that was read, also what is no live event. */
  readonly positions: Positions
}
