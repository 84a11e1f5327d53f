import type { AuditEntry, EventType } from '@countersign/contract'

/** An event as webhooks and live events send it. */
export interface FeedEvent {
  /** `evt_…`: the same whenever the event is made again. */
  readonly id: string
  readonly type: EventType | LiveOnlyType
  readonly timestamp: string
  readonly sequence: number | null
  /** As the catalogue in the contract says. */
  readonly data: object
  readonly subject: string
  readonly agent_id: string | null
  /** The entry that tells of it. */
  readonly entry: AuditEntry
}

/** Changes of decisions that live events show and webhooks do not. */
type LiveOnlyType = 'decision.claimed' | 'decision.redeemed'
