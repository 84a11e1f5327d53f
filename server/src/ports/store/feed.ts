/**
 * The data that the feed (webhooks, live events, statistics) keeps in the store besides the audit log that it reads.
 * The feed runs in its own thread, which opens the store a second time for this part of it.
 *
 * What every adapter promises:
 * - A reader belongs to one holder at a time. `save` of a holder that has lost its reader to another writes no position
 *   and no count, and returns false.
 * - The positions of a batch never become durable before the rest of it. So a crash repeats work, and skips none. Counts
 *   may become durable before the positions: each count names the entries that it includes, so nothing is counted twice.
 * - The same applies to nodes and checkpoints: they become durable together with the positions, and never change.
 * - `save` may be repeated with the same batch, and then changes nothing more. Whether a rejected one became durable is
 *   unknown: its holder then holds the reader again, and continues from the positions that this returns.
 * - Everything else as in `Store`: durable when it resolves, absence is null or an empty list, `StoreUnavailableError`.
 */
import type { DeliveryStatus, JsonObject } from '@countersign/contract'
import type { AccountStore } from './accounts.js'
import type { AgentStore } from './agents.js'
import type { AuditStore } from './audit.js'
import type { DecisionStore } from './decisions.js'
import type { StoredDelivery } from './documents.js'
import type { KeyStore } from './keys.js'
import type { Page, PageRequest } from './page.js'
import type { PolicyStore } from './policies.js'
import type { WebhookStore } from './webhooks.js'

/** For each log, the index of the first unread entry. A log that is absent: 0. */
export type Positions = Readonly<Record<string, number>>

/** A reader of the logs, as its holder took it. */
export interface HeldReader {
  readonly name: string
  /** Incremented whenever another holder takes the reader, or the same one takes it after its lease was over. */
  readonly fence: number
  /** Null: it has never been saved. */
  readonly positions: Positions | null
  /** The other data of the reader; `{}` at first. */
  readonly state: JsonObject
}

/** The results of the entries up to some positions. All of it is written, or the positions are not. */
export interface FeedBatch {
  /** The reader that did the work. */
  readonly reader: Pick<HeldReader, 'name' | 'fence'>
  readonly positions: Positions
  readonly state: JsonObject
  /** New deliveries: one that exists already stays as it is. */
  readonly deliveries: readonly StoredDelivery[]
  /** Counts in their present state, which replace those with the same id. At most 8 MiB of them, as JSON. */
  readonly counts: readonly StoredCount[]
  /** Nodes of trees: one that exists already stays as it is. */
  readonly nodes: readonly StoredNode[]
  /** New checkpoints: one that exists already stays as it is. */
  readonly checkpoints: readonly StoredCheckpoint[]
}

/** The place of a node in the Merkle tree of a log: it covers 2^`level` leaves, and is the `index`-th of its level. */
export interface NodePlace {
  readonly level: number
  readonly index: number
}

export interface StoredNode extends NodePlace {
  readonly tree: string
  /** In base64url. */
  readonly hash: string
}

/** A signed checkpoint of a log. */
export interface StoredCheckpoint {
  /** Its number among the checkpoints of all logs, starting at 0: its position in the root log. */
  readonly index: number
  readonly log: string
  /** The number of entries in the log. */
  readonly size: number
  readonly created_at: string
  readonly note: string
}

/** A bucket of statistics. */
export interface StoredCount {
  /** Identifies one bucket, group and value; at most 600 bytes. */
  readonly id: string
  /** The series of the bucket: the interval and the group. */
  readonly series: string
  /** The start of the bucket, in milliseconds since 1970. */
  readonly starts_ms: number
  readonly document: JsonObject
}

export interface CountFilter {
  readonly series: string
  /** Inclusive. */
  readonly from_ms: number
  /** Exclusive. */
  readonly to_ms: number
}

export interface DeliveryFilter {
  readonly webhook_id: string
  readonly status?: DeliveryStatus
}

export interface ReaderStore {
  /**
   * Takes a reader for `forMs`, or extends the hold by `forMs`. Null while another holder has it.
   *
   * @param holder identifies the process that works with the reader; it must not outlive that process
   */
  hold(name: string, holder: string, forMs: number): Promise<HeldReader | null>
  /** Ends a hold, so that the next holder does not have to wait. */
  release(holder: string): Promise<void>
  /** Makes a batch durable. False: another holder has taken the reader since. */
  save(batch: FeedBatch): Promise<boolean>
  /** Returns the last saved state, regardless of the holder; null when it was never saved. */
  get(name: string): Promise<Pick<HeldReader, 'positions' | 'state'> | null>
  /** Lists the names of saved readers with this prefix, in order. */
  list(prefix: string): Promise<readonly string[]>
  remove(name: string): Promise<void>
}

export interface DeliveryStore {
  get(id: string): Promise<StoredDelivery | null>
  /** Newest first, by the time of creation. */
  list(filter: DeliveryFilter, page: PageRequest): Promise<Page<StoredDelivery>>
  /**
   * Lists the pending deliveries of an endpoint whose next attempt is at `now` or earlier, longest overdue first,
   * without damaged rows.
   */
  listDue(webhookId: string, now: string, limit: number): Promise<readonly StoredDelivery[]>
  /**
   * Returns the time of the next attempt of an endpoint's pending deliveries, and their oldest `event_at`; null for
   * none.
   */
  pendingOf(webhookId: string): Promise<{ readonly next_attempt_at: string; readonly oldest_event_at: string } | null>
  /** Adds a new delivery that no entry caused. One that exists already stays as it is. */
  add(delivery: StoredDelivery): Promise<void>
  /**
   * Writes deliveries back, each on the condition that its stored `version` is still one less; without their responses
   * if the request of the event's decision was erased. Returns the ids of those written.
   */
  update(deliveries: readonly StoredDelivery[]): Promise<readonly string[]>
  /**
   * Removes deliveries of an endpoint that were created before this time, even pending ones; null for all. Removes a
   * bounded number per call, and returns how many.
   */
  remove(webhookId: string, before: string | null): Promise<number>
}

export interface CountStore {
  /** Lists at most `limit` counts in the order of their starts, then of their ids. */
  list(filter: CountFilter, limit: number): Promise<readonly StoredCount[]>
  /**
   * Removes counts of a series that start before this time. Removes a bounded number per call, and returns how many.
   */
  remove(series: string, beforeMs: number): Promise<number>
}

/** The Merkle trees of the audit logs. */
interface TreeStore {
  /** Returns the existing nodes among these places of a tree, in any order. */
  getNodes(tree: string, places: readonly NodePlace[]): Promise<readonly StoredNode[]>
  /** Lists at most `limit` checkpoints of all logs from this index on, in the order of the indexes. */
  listCheckpoints(fromIndex: number, limit: number): Promise<readonly StoredCheckpoint[]>
}

/** The roles of the store that the feed needs. Any number of threads may read, at any time. */
export interface FeedStore {
  readonly readers: ReaderStore
  readonly deliveries: DeliveryStore
  readonly counts: CountStore
  readonly trees: TreeStore
  readonly webhooks: WebhookStore
  readonly accounts: Pick<AccountStore, 'get'>
  readonly agents: Pick<AgentStore, 'get'>
  readonly audit: Pick<AuditStore, 'read' | 'listLogs'>
  readonly decisions: Pick<DecisionStore, 'get'>
  readonly keys: Pick<KeyStore, 'load'>
  readonly policies: Pick<PolicyStore, 'getRevision' | 'listRevisions'>
  close(): Promise<void>
}
