/**
 * What the feed (webhooks, live events, statistics) keeps in the store besides the audit log that it reads. The feed runs in
 * a thread of its own, which opens the store a second time for this part of it.
 *
 * What every adapter promises:
 * - A reader belongs to one holder at a time. `save` of a holder that has lost its reader to another writes no position and
 *   no count, and answers false.
 * - The positions of a batch never become durable before the rest of it. So a crash repeats work, and leaves none out. The
 *   counts become durable together with the positions: so nothing is counted twice.
 * - The same is true of nodes and checkpoints: they become durable together with the positions, and never change.
 * - `save` may be repeated with the same batch, and then changes nothing more. Whether a rejected one became durable is
 *   unknown: then its holder holds the reader again, and goes on from what that says.
 * - Everything else as in `Store`: durable when it resolves, absence is null or an empty list, `StoreUnavailableError`.
 */
import type { DeliveryStatus, JsonObject } from '@countersign/contract'
import type { StoredDelivery, StoredPolicy } from './documents.js'
import type { Page, PageRequest, Store } from './store.js'

/** For each log, the index of the first entry that was not read. A log that is absent: 0. */
export type Positions = Readonly<Record<string, number>>

/** A log, and the index behind its last entry. */
export interface LogEnd {
  readonly log: string
  readonly next_index: number
}

/** A reader of the logs, as its holder took it. */
export interface HeldReader {
  readonly name: string
  /** Raised whenever another holder takes the reader, or the same one after its lease was over. */
  readonly fence: number
  /** Null: it has never been saved. */
  readonly positions: Positions | null
  /** What else the reader keeps; `{}` at first. */
  readonly state: JsonObject
}

/** What the entries up to some positions came to. All of it is written, or the positions are not. */
export interface FeedBatch {
  /** Whose work it is. */
  readonly reader: Pick<HeldReader, 'name' | 'fence'>
  readonly positions: Positions
  readonly state: JsonObject
  /** Deliveries that are new: one that exists already stays as it is. */
  readonly deliveries: readonly StoredDelivery[]
  /** Counts, each as it is now: the one of the same id is replaced. At most 8 MiB of them, as JSON. */
  readonly counts: readonly StoredCount[]
  /** Nodes of trees: one that exists already stays as it is. */
  readonly nodes: readonly StoredNode[]
  /** Checkpoints that are new: one that exists already stays as it is. */
  readonly checkpoints: readonly StoredCheckpoint[]
}

/** Where a node is in the Merkle tree of a log: over 2^`level` leaves, the `index`-th of its level. */
export interface NodePlace {
  readonly level: number
  readonly index: number
}

export interface StoredNode extends NodePlace {
  /** The name of the tree. */
  readonly tree: string
  /** In base64url. */
  readonly hash: string
}

/** A signed checkpoint of a log. */
export interface StoredCheckpoint {
  /** Its number among the checkpoints of all logs, from 0 on: its position in the root log. */
  readonly index: number
  readonly log: string
  /** How many entries the log had. */
  readonly size: number
  readonly created_at: string
  /** The signed note. */
  readonly note: string
}

/** A bucket of statistics. */
export interface StoredCount {
  /** Of one bucket, group and value; at most 600 bytes. */
  readonly id: string
  /** Which of several series the bucket is of: the interval and the group. */
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

/** What the feed reads. Any number of threads may, at any time. */
export interface FeedReads
  extends Pick<
    Store,
    'readLog' | 'findDecision' | 'findAgent' | 'loadKeys' | 'loadWebhooks' | 'readAccounts' | 'listPolicyRevisions'
  > {
  /** Every log that has an entry, in the order of the names. */
  listLogs(): Promise<readonly LogEnd[]>
  /** One revision of a policy, of a deleted one too. */
  findPolicyRevision(id: string, revision: number): Promise<StoredPolicy | null>
  /** The names of readers that begin so and were saved at least once, in order. */
  listReaders(prefix: string): Promise<readonly string[]>
  /** As it was saved last, whoever holds it; null when it was never saved. */
  findReader(name: string): Promise<Pick<HeldReader, 'positions' | 'state'> | null>
  findDelivery(id: string): Promise<StoredDelivery | null>
  /** Newest first, by the time of creation. */
  listDeliveries(filter: DeliveryFilter, page: PageRequest): Promise<Page<StoredDelivery>>
  /** Pending deliveries of an endpoint whose next attempt is at `now` or before it, the longest overdue first. */
  listDue(webhookId: string, now: string, limit: number): Promise<readonly StoredDelivery[]>
  /** When the next attempt of an endpoint's pending deliveries is, and the oldest `event_at` of them; null for none. */
  pendingOf(webhookId: string): Promise<{ readonly next_attempt_at: string; readonly oldest_event_at: string } | null>
  /** In the order of their starts, then of their ids. At most `limit`. */
  listCounts(filter: CountFilter, limit: number): Promise<readonly StoredCount[]>
  /** Those of the nodes of a tree that there are, in any order. */
  findNodes(tree: string, places: readonly NodePlace[]): Promise<readonly StoredNode[]>
  /** Checkpoints of all logs from this index on, in the order of the indexes. At most `limit`. */
  listCheckpoints(fromIndex: number, limit: number): Promise<readonly StoredCheckpoint[]>
}

/** What the feed writes. */
export interface FeedWrites {
  /**
   * Takes a reader for so long, or holds it for so long again. Null while another holder has it.
   *
   * @param holder names the one who works with it: one process, and nothing that outlives it
   */
  holdReader(name: string, holder: string, forMs: number): Promise<HeldReader | null>
  /** Ends a hold, so that the next holder need not wait. */
  releaseReaders(holder: string): Promise<void>
  /** Makes a batch durable. False: another holder has taken the reader since. */
  save(batch: FeedBatch): Promise<boolean>
  /** Forgets a reader. */
  removeReader(name: string): Promise<void>
  /** A new delivery that no entry caused. One that exists already stays as it is. */
  addDelivery(delivery: StoredDelivery): Promise<void>
  /** Writes deliveries back, each on the condition that its `version` is still one less. Answers the ids of those written. */
  updateDeliveries(deliveries: readonly StoredDelivery[]): Promise<readonly string[]>
  /** Removes deliveries of an endpoint that were made before this time, pending ones too; null for all. A bounded number a call, and says how many. */
  removeDeliveries(webhookId: string, before: string | null): Promise<number>
  /** Removes counts of a series that start before this time. A bounded number a call, and says how many. */
  removeCounts(series: string, beforeMs: number): Promise<number>
}

export interface FeedStore extends FeedReads, FeedWrites {
  close(): Promise<void>
}
