import type { DecisionStatus, Effect } from '@countersign/contract'
import type { HeldRequest, Posting, StoredDecision } from './documents.js'
import type { Page, PageRequest } from './page.js'

export interface DecisionWithRequest {
  readonly decision: StoredDecision
  readonly request: HeldRequest
}

export interface DecisionFilter {
  readonly agent_id?: string
  readonly action?: string
  readonly resource?: string
  readonly effect?: Effect
  /** As of `now`: a decision whose `expires_at` has passed counts as expired, whatever was written. */
  readonly status?: DecisionStatus
  readonly policy_id?: string
  readonly request_hash?: string
  readonly trace_id?: string
  /** Inclusive, on `evaluated_at`. */
  readonly from?: string
  /** Exclusive. */
  readonly to?: string
  /** Patterns (`*` matches any run): only decisions of agents that match one. Null for all. */
  readonly agents: readonly string[] | null
  readonly now: string
}

/** The statuses that end at `expires_at`. */
export type OpenStatus = Extract<DecisionStatus, 'authorized' | 'awaiting_review' | 'approved'>

/** Selects decisions whose requests were not erased. */
export interface HeldRequestFilter {
  readonly agent_id?: string
  /** Inclusive, on `evaluated_at`. */
  readonly evaluated_from?: string
  /** Exclusive, on `evaluated_at`. */
  readonly evaluated_before?: string
}

/** Selects decisions whose written status is final. */
export interface ClosedFilter {
  /** Exclusive, on `evaluated_at`. */
  readonly evaluated_before: string
  /** Exclusive, on `expires_at`. */
  readonly ended_before: string
}

/** The facts that show whether a closed decision may be removed. */
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

export interface WaitingReviews {
  readonly waiting: number
  /** The `evaluated_at` of the oldest; null for none. */
  readonly oldest_at: string | null
}

export interface DecisionStore {
  get(id: string): Promise<DecisionWithRequest | null>
  /** Returns what transitions change, as last written; faster than reading the whole decision. */
  getStatus(id: string): Promise<Pick<StoredDecision, 'status' | 'expires_at'> | null>
  list(filter: DecisionFilter, page: PageRequest): Promise<Page<DecisionWithRequest>>
  /** Lists the decisions written as `awaiting_review` whose `expires_at` is after `now`. */
  listOpenReviews(now: string): Promise<readonly OpenReview[]>
  /** Counts the same decisions, damaged rows too, and finds the oldest. */
  measureReviews(now: string): Promise<WaitingReviews>
  /**
   * Lists the decisions written with this status whose `expires_at` is `now` or earlier, longest overdue first. A page
   * leaves damaged rows out, and may therefore be short or empty: the next page continues after them.
   */
  listOverdue(status: OpenStatus, now: string, page: PageRequest): Promise<Page<StoredDecision>>
  /**
   * Returns the first `expires_at` of all decisions written as `approved`; null when there is none. Damaged rows do not
   * count.
   */
  firstApprovalEnd(): Promise<string | null>
  /** Lists the oldest first, unlike other lists. */
  listClosed(filter: ClosedFilter, page: PageRequest): Promise<Page<ClosedDecision>>
  /** Lists the oldest first, unlike other lists. */
  listHeldRequests(
    filter: HeldRequestFilter,
    page: PageRequest,
  ): Promise<Page<Pick<StoredDecision, 'id' | 'evaluated_at'>>>
  /**
   * Removes decisions with their requests, and returns how many. A decision stays if it is not at this version, or if
   * an idempotency record whose `expires_at` is after `now` names it. Deliveries of a removed decision keep no
   * response, also not those of later attempts; their version may increase. Accounts, audit entries and agents stay as
   * they are.
   */
  remove(decisions: readonly Pick<StoredDecision, 'id' | 'version'>[], now: string): Promise<number>
}
