/**
 * How all records of an embedded store move to a store that servers share (`countersign migrate`). During the move, no
 * server runs on either of them. Each kind of record is read in pages, written as it is, and read again to be compared.
 *
 * What both sides promise:
 * - A record that is written twice is there once: a move that was interrupted is taken up again at a page that may have
 *   been written already.
 * - A store that is the source or the target of an unfinished move refuses to open for a server.
 * - The source refuses to open after the move, too: otherwise two histories would grow from one.
 */
import type { AuditEntry } from '@countersign/contract'
import type { AgentWithLastSeen } from './agents.js'
import type { LogEnd } from './audit.js'
import type { DecisionWithRequest } from './decisions.js'
import type {
  IdempotencyRecord,
  StoredAccount,
  StoredAgent,
  StoredDelivery,
  StoredKey,
  StoredPolicy,
  StoredWebhook,
} from './documents.js'
import type { FeedBatch, StoredCheckpoint, StoredCount, StoredNode } from './feed.js'
import type { Page, PageRequest } from './page.js'
import type { WantedSlot } from './replicas.js'

/** The kinds of records, in the order in which they move: what a decision refers to comes before it. */
export interface MovedRecords {
  readonly secrets: { readonly name: string; readonly value: string }
  readonly policies: MovedPolicy
  readonly agents: AgentWithLastSeen
  readonly registrations: MovedRegistration
  readonly keys: StoredKey
  readonly key_uses: { readonly key_id: string; readonly used_at: string }
  readonly webhooks: StoredWebhook
  readonly audit_entries: AuditEntry
  readonly decisions: DecisionWithRequest
  readonly accounts: MovedAccount
  readonly idempotency_keys: IdempotencyRecord
  readonly deliveries: StoredDelivery
  readonly counts: StoredCount
  readonly tree_nodes: StoredNode
  readonly checkpoints: StoredCheckpoint
  readonly readers: MovedReader
}

export type MovedKind = keyof MovedRecords

/** A revision of a policy, as it was written. */
export interface MovedPolicy {
  readonly policy: StoredPolicy
  /** The set from which on it no longer applies; null while it does. */
  readonly until_set: number | null
  /** When the policy was deleted, if this was its last revision. */
  readonly deleted_at: string | null
}

/** A registration of an agent, present or former. */
export interface MovedRegistration {
  readonly agent_id: string
  readonly registration: NonNullable<StoredAgent['registration']>
}

export interface MovedAccount {
  readonly account: StoredAccount
  /** Higher for an account that was opened later. */
  readonly order: number
}

/** A reader of the audit log without its holder: no process has it. */
export interface MovedReader extends Pick<FeedBatch, 'positions' | 'state'> {
  readonly name: string
}

/** What the source remembers of a move. */
export interface MoveNote {
  /** Names the move on both sides. */
  readonly id: string
  /** Where the records go, without credentials. */
  readonly to: string
  /** When it was completed; null while it is not. */
  readonly completed_at: string | null
}

/** The store that the records leave. */
export interface MoveSource {
  readonly read: { readonly [Kind in MovedKind]: (page: PageRequest) => Promise<Page<MovedRecords[Kind]>> }
  readonly count: (kind: MovedKind) => Promise<number>
  /** Where the log ends that the next process continues; null when it begins a new one. */
  readonly logEnd: () => Promise<LogEnd | null>
  readonly findNote: () => Promise<MoveNote | null>
  readonly note: (note: MoveNote | null) => Promise<void>
}

/** The page of the source to continue with. Everything before it was written. */
export interface MoveProgress {
  readonly kind: MovedKind
  readonly after: string | null
}

/** What the target knows about a move. */
export type MoveState =
  /** It holds no document. */
  | { readonly kind: 'empty' }
  /** It holds data that no move has brought. */
  | { readonly kind: 'used' }
  | { readonly kind: 'underway'; readonly id: string; readonly progress: MoveProgress | null }
  | { readonly kind: 'completed'; readonly id: string }
  /** It was given up: these data are never served. */
  | { readonly kind: 'undone'; readonly id: string }

/** The store that gets the records. */
export interface MoveTarget {
  state(): Promise<MoveState>
  /** Prepares an empty store, or one with the same move underway. Returns the state afterwards: another may be first. */
  begin(id: string): Promise<MoveState>
  write<Kind extends MovedKind>(kind: Kind, records: readonly MovedRecords[Kind][]): Promise<void>
  noteProgress(id: string, progress: MoveProgress): Promise<void>
  /** Returns each of these records as it is stored; null for one that is missing. */
  find<Kind extends MovedKind>(
    kind: Kind,
    records: readonly MovedRecords[Kind][],
  ): Promise<readonly (MovedRecords[Kind] | null)[]>
  count(kind: MovedKind): Promise<number>
  /** Takes the slots of reviews that wait. */
  takeReviewSlots(slots: readonly WantedSlot[]): Promise<void>
  /** Leaves a log to the next process, which continues it. */
  leaveLog(end: LogEnd): Promise<void>
  /** Ends a move that is underway: servers may open the store from now on. Returns the state afterwards. */
  complete(id: string): Promise<MoveState>
  /** Ends a move that is underway: no server will ever open the store. Returns the state afterwards. */
  giveUp(id: string): Promise<MoveState>
  listLogs(): Promise<readonly LogEnd[]>
  close(): Promise<void>
}

/** All kinds, in their order. */
export const MOVED_KINDS: readonly MovedKind[] = [
  'secrets',
  'policies',
  'agents',
  'registrations',
  'keys',
  'key_uses',
  'webhooks',
  'audit_entries',
  'decisions',
  'accounts',
  'idempotency_keys',
  'deliveries',
  'counts',
  'tree_nodes',
  'checkpoints',
  'readers',
]

/** The store is one side of a move, so no server may use it. The message says what to do. */
export class MovedStoreError extends Error {
  override readonly name = 'MovedStoreError'

  /** @param location of the data, without credentials */
  static ofSource(location: string, { to, completed_at }: MoveNote): MovedStoreError {
    if (completed_at === null)
      return new MovedStoreError(
        `The data in ${location} are being moved to MongoDB at ${to}, and the move is not complete. ` +
          'To complete it, run: countersign migrate. To stay with this store, run: countersign migrate --undo',
      )
    return new MovedStoreError(
      `The data in ${location} were moved to MongoDB at ${to} on ${completed_at}. Set MONGODB_URL to continue there.`,
    )
  }

  static ofTarget(location: string, { isGivenUp }: { readonly isGivenUp: boolean }): MovedStoreError {
    return new MovedStoreError(
      isGivenUp
        ? `${location} holds data of a move that was undone. Use another database, or drop this one.`
        : `${location} holds data of a move that is not complete. To complete it, run countersign migrate with the DATA_DIR that is moved.`,
    )
  }
}
