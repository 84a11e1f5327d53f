/**
 * The store: the durable home of decisions, policies, agents, keys and the audit log.
 *
 * What every adapter promises:
 * - Durable means: still there after the process is killed and after the machine loses power. `commit` resolves only
 *   then.
 * - A mutation is one atomic step: its change, its audit entry and its idempotency record are all written or none is.
 * - Reads see every mutation whose `commit` has resolved.
 * - The document of a decision, a policy, an agent, a key or a delivery is used only for the record of its row: a row
 *   whose document has another id or version rejects the read with `DamagedRecordError`.
 * - A call that cannot be served rejects with `StoreUnavailableError`; the driver's own error is its `cause`. Whether a
 *   rejected `commit` became durable is unknown: it may have, and the log then continues after it (`openLog`).
 * - Absence is null or an empty list, never an error.
 * - No text of a user is ever part of a query.
 * - The code that opened the store closes it; every later call rejects with `StoreUnavailableError`.
 */
import type { AuditEntry } from '@countersign/contract'
import type { AccountStore } from './accounts.js'
import type { AgentStore } from './agents.js'
import type { AuditStore } from './audit.js'
import type { DecisionStore } from './decisions.js'
import type {
  HeldRequest,
  IdempotencyRecord,
  StoredAgent,
  StoredDecision,
  StoredKey,
  StoredPolicy,
  StoredWebhook,
} from './documents.js'
import type { FeedStore } from './feed.js'
import type { IdempotencyStore } from './idempotency.js'
import type { KeyStore } from './keys.js'
import type { Ledger } from './ledger.js'
import type { PolicyStore } from './policies.js'
import type { Replicas } from './replicas.js'

/** One durable step: the change, its audit entry, and the idempotency record of the call that requested it. */
export interface Mutation {
  readonly change: Change
  /** Null with `call.only`, where nothing changes. */
  readonly entry: AuditEntry | null
  readonly idempotency: IdempotencyRecord | null
  /**
   * Whether the state that the mutation relies on (policies, agents, keys) is still current; absent: it is. A store
   * that several processes share calls it right before it writes, because a process may have been frozen since. False:
   * the conflict `outdated`.
   */
  readonly holds?: (() => boolean) | undefined
}

/**
 * `expected_version` is the version that the document must have in the store, 0 when it must not exist; the document in
 * the change has the next one. A decision also marks its agent as seen at `evaluated_at`; an agent that was only seen
 * is at version 0, and the store keeps its first `known_at`. A policy's `policy_set` must be the next one of the
 * counter (otherwise it is not at the expected version); a deletion increments version and counter, closes the revision
 * before it and is not a revision itself. A decision moves the accounts of its postings by the difference to its former
 * postings (none, when it is new); `reservation` names the one that the mutation commits.
 */
export type Change =
  | {
      readonly kind: 'decision.create'
      readonly decision: StoredDecision
      readonly request: HeldRequest
      readonly reservation: string | null
    }
  | {
      readonly kind: 'decision.update'
      readonly decision: StoredDecision
      readonly expected_version: number
      readonly reservation: string | null
      /**
       * Its request is erased: the store removes every stored part of it (`HeldRequest`). The decision records that in
       * `request_erased_at`. Idempotency records that name the decision and have its request hash as their fingerprint
       * lose the fingerprint. Deliveries whose event is about the decision keep no response, also not those of later
       * attempts; their version may increase.
       */
      readonly erases_request?: true
    }
  | { readonly kind: 'policy.write'; readonly policy: StoredPolicy; readonly expected_version: number }
  | { readonly kind: 'agent.write'; readonly agent: StoredAgent; readonly expected_version: number }
  | {
      readonly kind: 'key.write'
      readonly key: StoredKey
      readonly expected_version: number
      /** Other keys that must be at these versions; absent for none. */
      readonly beside?: readonly Pick<StoredKey, 'id' | 'version'>[]
    }
  /** With `deleted_at` set, the webhook is removed. */
  | { readonly kind: 'webhook.write'; readonly webhook: StoredWebhook; readonly expected_version: number }
  /** Only the entry: the change is not in the store (a signing key). */
  | { readonly kind: 'entry.only' }
  /** Only the idempotency record: the call had nothing to change. */
  | { readonly kind: 'call.only' }

/**
 * With several, the first of `log_index`, `idempotency_key`, `version`, `policy_name`, `key_secret` or `too_large` is
 * named.
 */
export type Conflict =
  /** The document is not at the expected version. */
  | 'version'
  /** Another policy that is not deleted has the name. */
  | 'policy_name'
  /** Another key, revoked or not, has a secret of the same hash. */
  | 'key_secret'
  /**
   * The store cannot hold the new document. Never for a deletion or revocation, nor for a key that gets one text
   * instead of those that it has.
   */
  | 'too_large'
  /**
   * The name of the idempotency record is taken by a call whose record is still valid at the new record's `created_at`.
   */
  | 'idempotency_key'
  /** The state that the mutation relies on is no longer current. */
  | 'outdated'
  /** The log already has an entry at this index: another process writes to it. */
  | 'log_index'
  /** Another process has declared the mutation lost, so it must no longer be written. */
  | 'voided'

/**
 * The first `written` mutations have their positions in the log. The next one met `conflict`; it and all later ones
 * left no trace. The written ones are durable, except those in `lateConflicts` (by number in the group; absent when
 * there is none): they met a conflict with another process after others of the group were written, and an entry of type
 * `void` has their position. Those in `unsettled` (absent when there is none) are durable, but one of their accounts is
 * too busy and follows later: the caller must not report them as done.
 */
export interface CommitResult {
  readonly written: number
  readonly conflict: Conflict | null
  readonly lateConflicts?: ReadonlyMap<number, Conflict>
  readonly unsettled?: ReadonlySet<number>
  /**
   * Mutations after the one in conflict whose calls already have a record (absent when there is none): they would meet
   * `idempotency_key` too. So a group of repeated calls is not retried once for each of them.
   */
  readonly repeated?: ReadonlySet<number>
}

/** An object of roles, one for each kind of record. `commit` writes all of them. */
export interface Store extends FeedStore {
  readonly decisions: DecisionStore
  readonly policies: PolicyStore
  readonly agents: AgentStore
  readonly keys: KeyStore
  readonly accounts: AccountStore
  readonly audit: AuditStore
  readonly idempotency: IdempotencyStore
  /** Reserves in the budgets' accounts. */
  readonly ledger: Ledger
  /** Null when no other process can change the store. */
  readonly replicas: Replicas | null

  /**
   * Makes the mutations durable, in order, as far as their conditions hold. One call at a time. Rejects until `openLog`
   * was called, and after a rejected commit until the next `openLog`.
   */
  commit(mutations: readonly Mutation[]): Promise<CommitResult>

  /** Opens the audit log that this process writes, and returns the index of its next entry. */
  openLog(): Promise<{ readonly log: string; readonly next_index: number }>
  /**
   * From the next `openLog` on, logs without a writer are not continued, because their next positions may have been
   * used.
   */
  leaveLogs(): Promise<void>
  /** Whether the store was restored from a backup, and no process has opened a log since. */
  isRestored(): Promise<boolean>

  /**
   * Resolves when the files that the store itself writes contain nothing that was erased or removed before the call; at
   * once when there is nothing to do. It may take long, and slows other calls down a little. Work that a crash
   * interrupts is continued by the next call of any process. A separate database manages its own files.
   */
  wipe(): Promise<void>

  /** Returns a random secret of this store by name (256 bits, base64url), created at first use and then constant. */
  secret(name: string): Promise<string>

  /** Resolves when the store can write. Reads after it show what was durable before it, also when the primary changes. */
  ping(): Promise<void>
  /**
   * Whether another program has written to the data since the last call, or since the store was opened. Writes during
   * the recovery from a fault may be missed. Null where other processes of Countersign write, too.
   */
  readonly wasWrittenByOthers: (() => Promise<boolean>) | null
}

/** A condition of the mutation did not hold; nothing of it was written. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'
  constructor(readonly conflict: Conflict) {
    super(`The mutation met a conflict: ${conflict}.`)
  }
}
