import type { LiveEvent } from '@countersign/contract'
import type { Positions } from '@countersign/store-port/feed'

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
  /** Behind all that was read, also what is no live event. */
  readonly positions: Positions
}
