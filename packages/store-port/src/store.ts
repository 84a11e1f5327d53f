/**
 * The store: where decisions, policies, agents, keys and the audit log outlive the process.
 *
 * What every adapter promises:
 * - Durable means: still there after the process is killed and after the machine loses power. `commit` resolves only then.
 * - A mutation is one atomic step: its change, its audit entry and its idempotency record are all there or all absent.
 * - Reads see every mutation whose `commit` has resolved.
 * - A call that cannot be served rejects with `StoreUnavailableError`; the driver's own error is its `cause`. Whether a
 *   rejected `commit` became durable is unknown: it may have, and the log then continues after it (`openLog`).
 * - Absence is null or an empty list, never an error.
 * - No text of a user is ever a part of a query.
 * - The one who opened the store closes it; every later call rejects with `StoreUnavailableError`.
 */
import type { AccountKey, AuditEntry, BudgetPeriod, DecisionStatus, Effect } from '@countersign/contract'
import type {
  HeldRequest,
  IdempotencyRecord,
  LastSeen,
  Posting,
  StoredAccount,
  StoredAgent,
  StoredDecision,
  StoredKey,
  StoredPolicy,
  StoredWebhook,
} from './documents.js'
import type { FeedReads, FeedWrites } from './feed.js'
import type { Ledger } from './ledger.js'
import type { Replicas } from './replicas.js'

/** One durable step: what changes, the audit entry of it, and the idempotency record of the call that asked for it. */
export interface Mutation {
  readonly change: Change
  /** Null with `call.only`, where nothing changes. */
  readonly entry: AuditEntry | null
  readonly idempotency: IdempotencyRecord | null
  /**
   * Whether what the mutation rests on (policies, agents, keys) is still current; absent: it is. A store that several
   * processes share asks right before it writes, for a process may have been frozen since. False: the conflict `outdated`.
   */
  readonly holds?: (() => boolean) | undefined
}

/**
 * `expected_version` is the version that the document must have in the store, 0 when it must not exist; the document in
 * the change carries the next one. A decision also marks its agent as seen at `evaluated_at`; an agent that was only seen
 * is at version 0, and the `known_at` that the store has first stays. A policy's `policy_set` must be the next one of the
 * counter (else it is not at the expected version); a deletion raises version and counter, closes the revision before it
 * and is no revision of its own. A decision moves the accounts of its postings by what they differ from those it had
 * (none, when it is new); `reservation` names the one that the mutation commits.
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
       * Its request is erased: the store removes what it holds of it (`HeldRequest`), wherever it holds it. The decision says
       * so by `request_erased_at`. Idempotency records that name the decision and have its request hash as their fingerprint
       * have none from then on.
       */
      readonly erases_request?: true
    }
  | { readonly kind: 'policy.write'; readonly policy: StoredPolicy; readonly expected_version: number }
  | { readonly kind: 'agent.write'; readonly agent: StoredAgent; readonly expected_version: number }
  | {
      readonly kind: 'key.write'
      readonly key: StoredKey
      readonly expected_version: number
      /** Keys that have to be at these versions, too; absent for none. */
      readonly beside?: readonly Pick<StoredKey, 'id' | 'version'>[]
    }
  /** With `deleted_at` set, the webhook is removed. */
  | { readonly kind: 'webhook.write'; readonly webhook: StoredWebhook; readonly expected_version: number }
  /** Nothing but the entry: what changed is not in the store (a signing key). */
  | { readonly kind: 'entry.only' }
  /** Nothing but the idempotency record: the call found things as it wanted them. */
  | { readonly kind: 'call.only' }

/** Of several, the first of `log_index`, `idempotency_key`, `version`, `policy_name`, `key_secret` or `too_large` is named. */
export type Conflict =
  /** The document is not at the expected version. */
  | 'version'
  /** Another live policy has the name. */
  | 'policy_name'
  /** Another key, revoked or not, has a secret of the same hash. */
  | 'key_secret'
  /**
   * The store cannot hold what the document would become. Never of a deletion or revocation, nor of a key that gets one
   * text in place of those that it has.
   */
  | 'too_large'
  /** The idempotency record's name is taken by a call that still counts at the new record's `created_at`. */
  | 'idempotency_key'
  /** What the mutation rests on is not current any more. */
  | 'outdated'
  /** The log holds an entry at this index: another process writes to it. */
  | 'log_index'
  /** Another process has given the mutation up for lost, so it must not be written any more. */
  | 'voided'

/**
 * The first `written` mutations have their positions in the log. The next one met `conflict`; it and all behind it left no
 * trace. The written ones are durable, except those in `lateConflicts` (by number in the group; absent when there is
 * none): they met a conflict with another process after others of the group were written, and an entry of type `void`
 * has their position. Those in `unsettled` (absent when there is none) are durable, but an account of theirs is so busy
 * that it follows only later: the caller must not report them as done.
 */
export interface CommitResult {
  readonly written: number
  readonly conflict: Conflict | null
  readonly lateConflicts?: ReadonlyMap<number, Conflict>
  readonly unsettled?: ReadonlySet<number>
  /**
   * Mutations after the one in conflict whose calls have a record already (absent when there is none): they would meet
   * `idempotency_key` too. So a group of repeated calls is not tried once for each of them.
   */
  readonly repeated?: ReadonlySet<number>
}

/**
 * Newest first: by time and then by id, policies by id, revisions by number. `after` is the `next` of the page before,
 * null for the first page. What is written between two pages moves nothing: no item comes twice, none is left out that
 * was there from the first page on. A page that has a next one is full, unless the store had to look for long. No more
 * rows are held at a time than the page takes, and a bounded number beside.
 */
export interface PageRequest {
  readonly limit: number
  /**
   * The page also ends before a row that would make it larger than so many bytes, as the store keeps them; absent for no
   * such end. A larger row is a page of its own.
   */
  readonly maxBytes?: number
  readonly after: string | null
  /** The store awaits it before it makes an item of a row: a page is long work, and others get their turn. */
  readonly pause?: () => Promise<void>
  /** False once nobody waits for the page any more: then it need not be full. */
  readonly isWanted?: () => boolean
}
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

export interface DecisionFilter {
  readonly agent_id?: string
  readonly action?: string
  readonly resource?: string
  readonly effect?: Effect
  /** As of `now`: one whose `expires_at` has come is expired, whatever was written. */
  readonly status?: DecisionStatus
  readonly policy_id?: string
  readonly request_hash?: string
  /** Inclusive, on `evaluated_at`. */
  readonly from?: string
  /** Exclusive. */
  readonly to?: string
  /** Patterns (`*` is any run): only decisions of agents that match one. Null for all. */
  readonly agents: readonly string[] | null
  readonly now: string
}

export interface AuditFilter {
  readonly type?: string
  readonly agent_id?: string
  readonly subject?: string
  readonly from?: string
  readonly to?: string
}

/** The statuses that end when `expires_at` comes. */
export type OpenStatus = Extract<DecisionStatus, 'authorized' | 'awaiting_review' | 'approved'>

export interface DecisionWithRequest {
  readonly decision: StoredDecision
  readonly request: HeldRequest
}

export interface AgentWithLastSeen {
  readonly agent: StoredAgent
  readonly lastSeen: LastSeen
}

/** Accounts that match all that is given. */
export interface AccountFilter {
  readonly policy_id?: string
  /** In lower case. */
  readonly unit?: string
  readonly period?: BudgetPeriod
  /** Null for accounts without a start (`total`). */
  readonly starts_at?: string | null
  /** Accounts of single agents, or those of all agents together. */
  readonly scope?: 'policy' | 'agent'
  /** Only accounts in which something is reserved. */
  readonly is_reserved?: true
  /** Patterns, as in DecisionFilter; accounts of all agents together always match. */
  readonly agents: readonly string[] | null
}

/** Decisions whose requests are held, that is, not erased. */
export interface HeldRequestFilter {
  readonly agent_id?: string
  /** Inclusive, on `evaluated_at`. */
  readonly evaluated_from?: string
  /** Exclusive, on `evaluated_at`. */
  readonly evaluated_before?: string
}

/** Decisions whose status, as written, is final. */
export interface ClosedFilter {
  /** Exclusive, on `evaluated_at`. */
  readonly evaluated_before: string
  /** Exclusive, on `expires_at`. */
  readonly ended_before: string
}

/** What shows whether a closed decision may be removed. */
export interface ClosedDecision {
  readonly id: string
  readonly version: number
  /** In any order. */
  readonly postings: readonly Pick<Posting, 'account' | 'spent' | 'reserved'>[]
}

export interface OpenReview {
  readonly id: string
  readonly agent_id: string
  readonly key_id: string
  readonly expires_at: string
}

/** Where an entry is in the audit log. */
export interface LogPosition {
  readonly log: string
  readonly index: number
}

export interface Store {
  /** The budgets' accounts, which `commit` moves. */
  readonly ledger: Ledger

  /** Null when no other process can change the store. */
  readonly replicas: Replicas | null

  /** What the feed keeps here. */
  readonly feed: FeedReads & FeedWrites

  /**
   * Makes the mutations durable, in order, as far as their conditions hold. One call at a time. Rejects until `openLog` was
   * called, and again from a rejected commit until the next `openLog`.
   */
  commit(mutations: readonly Mutation[]): Promise<CommitResult>

  /** The audit log that this process writes, and the index of its next entry. */
  openLog(): Promise<{ readonly log: string; readonly next_index: number }>

  /** Whether an entry has this position; asked of positions that a `commit` which resolved has filled. */
  hasEntry(position: LogPosition): Promise<boolean>
  /**
   * The entries of a log from this index on, forward: in the order of their index, without a gap, at most `limit`.
   * - The first is the one at `fromIndex`. None at all: no entry is durable there, or nobody knows the log.
   * - There may be fewer than `limit`. They end before the one that would make them more than `maxBytes` (as in
   *   `PageRequest`), but never before the first; and before an index that is not durable yet, even where a later one is.
   * - An entry never changes. So whoever reads on at the last index + 1 gets each entry exactly once.
   */
  readLog(log: string, fromIndex: number, limit: number, maxBytes?: number): Promise<readonly AuditEntry[]>
  /** Whether the store was put back from a backup, and nobody has opened a log since. */
  isRestored(): Promise<boolean>
  /** Logs that nobody writes to now are not continued from the next `openLog` on: their next positions may have been given. */
  leaveLogs(): Promise<void>

  findDecision(id: string): Promise<DecisionWithRequest | null>
  /** What transitions change of it, as last written: quicker than the whole decision. */
  findDecisionStatus(id: string): Promise<Pick<StoredDecision, 'status' | 'expires_at'> | null>
  listDecisions(filter: DecisionFilter, page: PageRequest): Promise<Page<DecisionWithRequest>>
  /** Decisions written as `awaiting_review` whose `expires_at` is after `now`. */
  listOpenReviews(now: string): Promise<readonly OpenReview[]>
  /** Decisions written with this status whose `expires_at` is `now` or before it, the longest overdue first. */
  listOverdue(status: OpenStatus, now: string, limit: number): Promise<readonly StoredDecision[]>
  /** The first `expires_at` of all decisions written as `approved`, null when there is none. */
  firstApprovalEnd(): Promise<string | null>

  /** Unlike other lists, the oldest first. */
  listClosed(filter: ClosedFilter, page: PageRequest): Promise<Page<ClosedDecision>>
  /**
   * Removes decisions with their requests, and says how many. One stays that is not at this version, or that an idempotency
   * record names whose `expires_at` is after `now`. Accounts stay as they are, and so do audit entries and agents.
   */
  removeDecisions(decisions: readonly Pick<StoredDecision, 'id' | 'version'>[], now: string): Promise<number>

  /** Unlike other lists, the oldest first. */
  listHeldRequests(
    filter: HeldRequestFilter,
    page: PageRequest,
  ): Promise<Page<Pick<StoredDecision, 'id' | 'evaluated_at'>>>
  /**
   * Resolves when nothing of what was erased or removed before the call is left in the files that the store itself writes, and at
   * once when there is nothing to do. It may take long, and slows other calls down a little. What a crash interrupts, the next
   * call of any process goes on with. What a database of its own does with its files is up to that database.
   */
  wipe(): Promise<void>

  /** Accounts that a decision has counted for, the one that was opened last first. */
  listAccounts(filter: AccountFilter, page: PageRequest): Promise<Page<StoredAccount>>
  /** What `commit` has made durable, in the order of the keys; zeros for an account that nobody has used. */
  readAccounts(keys: readonly AccountKey[]): Promise<readonly StoredAccount[]>

  /** The live policies and the present counter (0 before the first write). */
  loadPolicies(): Promise<{ readonly policy_set: number; readonly policies: readonly StoredPolicy[] }>
  /** The policies that were live in the given set. */
  loadPoliciesOfSet(policySet: number): Promise<readonly StoredPolicy[]>
  /** Live policies. */
  listPolicies(page: PageRequest): Promise<Page<StoredPolicy>>
  /** Every revision of a policy, deleted or not; the last one of a deleted policy carries `deleted_at`. */
  listPolicyRevisions(id: string, page: PageRequest): Promise<Page<StoredPolicy>>

  /** Agents that are registered or suspended. */
  loadAgents(): Promise<readonly StoredAgent[]>
  /** Any agent that the store knows of, even one that was deleted before it was seen: its `last_revision` is kept. */
  findAgent(id: string): Promise<AgentWithLastSeen | null>
  /** Agents registered, suspended or seen; `agents` as in DecisionFilter. */
  listAgents(agents: readonly string[] | null, page: PageRequest): Promise<Page<AgentWithLastSeen>>
  /** The metadata that a registration had at a revision. */
  findAgentMetadata(id: string, revision: number): Promise<StoredAgent['registration']>

  loadKeys(): Promise<readonly StoredKey[]>
  /** When each key was last used; kept to the minute, may be lost in a crash. */
  loadKeyUses(): Promise<ReadonlyMap<string, string>>
  saveKeyUses(uses: ReadonlyMap<string, string>): Promise<void>

  /** In the order of their ids. */
  loadWebhooks(): Promise<readonly StoredWebhook[]>

  /** The record of that name that still counts at `now`. */
  findIdempotency(
    name: Pick<IdempotencyRecord, 'key_id' | 'operation' | 'key'>,
    now: string,
  ): Promise<IdempotencyRecord | null>
  /** Removes idempotency records that no longer count, a bounded number a call, and says how many: none are left at 0. */
  purgeIdempotency(now: string): Promise<number>

  listAuditEntries(filter: AuditFilter, page: PageRequest): Promise<Page<AuditEntry>>

  /** A random secret of this store by name (256 bits, base64url), made at first use and the same from then on. */
  secret(name: string): Promise<string>

  /** Resolves when the store can write. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** Nothing was permitted: the store could not answer. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'

  /** @param settled resolves when the failed call can have no further effect */
  constructor(
    message: string,
    options?: ErrorOptions,
    readonly settled: Promise<void> = Promise.resolve(),
  ) {
    super(message, options)
  }
}

/** The data were written by a newer release of Countersign; this one would misread them. They stay as they are. */
export class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError'

  /** @param location where the data are, without credentials */
  constructor(location: string, found: number, known: number) {
    super(
      `${location} has schema version ${found}, but this release supports versions up to ${known}. ` +
        'Start the release that wrote it, or a newer release.',
    )
  }
}

/** A condition of the mutation did not hold; nothing of it was written. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'
  constructor(readonly conflict: Conflict) {
    super(`The mutation met a conflict: ${conflict}.`)
  }
}
