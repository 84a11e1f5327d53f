/**
 * What the store holds, in the spelling of the wire. Every document carries `version`, raised by one with each write:
 * a write names the version it was made from, so that two writers cannot both win.
 */
import type {
  AccountKey,
  Advice,
  DecisionBudget,
  DecisionStatus,
  DeliveryAttempt,
  DeliveryStatus,
  Effect,
  EventType,
  JsonObject,
  Outcome,
  PolicyDocument,
  ReasonCode,
  Review,
  Scope,
  Shadow,
  Warning,
  Webhook,
  WebhookType,
} from '@countersign/contract'

/** Where an audit entry is in the log, and its hash; part of the permit. */
export interface AuditPosition {
  readonly log: string
  readonly index: number
  readonly leaf: string
}

/**
 * What a decision counts for in one budget account. Amounts are whole numbers of 1e-6 units, as decimal text.
 * A decision that is open holds `reserved`; one that is confirmed or expired counts as `spent`; else both are 0.
 */
export interface Posting {
  readonly account: AccountKey
  /** What was reserved for the decision; stays as it was. */
  readonly amount: string
  /** Whether the budget reads its amount from the request: then a confirmed amount counts for it. */
  readonly reads_amount: boolean
  readonly spent: string
  readonly reserved: string
}

export interface StoredDecision {
  readonly id: string
  readonly version: number
  readonly effect: Effect
  /** As last written. Whether it has expired since follows from the clock: see `presentStatus`. */
  readonly status: DecisionStatus
  readonly reason: string | null
  readonly reason_code: ReasonCode
  readonly policy_id: string
  readonly policy_revision: number | null
  readonly policy_set: number
  readonly rule: number | null
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  readonly latency_ms: number
  readonly evaluated_at: string
  readonly expires_at: string
  /** The budgets asked, as they were right after. */
  readonly budgets: readonly DecisionBudget[]
  /** Empty when no budget was reserved. */
  readonly postings: readonly Posting[]
  readonly review: Review | null
  readonly outcome: Outcome | null
  readonly advice: Advice | null
  readonly shadow: readonly Shadow[]
  /** Null when the request was erased; `resource` is null then, too. */
  readonly request_hash: string | null
  /** Absent while the request is held. */
  readonly request_erased_at?: string
  readonly key_id: string
  readonly request_id: string
  /** The job that may run the action; a null name is the caller that gave none. Null while nobody may run it yet. */
  readonly holder: { readonly name: string | null } | null
  /** When the holder claimed it after a review; null for one that was authorized at once or never. */
  readonly claimed_at: string | null
  /** The revision of the agent's registration that was evaluated, null when it was not registered. */
  readonly agent_revision: number | null
  readonly redeemed: { readonly by: string; readonly at: string } | null
  /** The entry that recorded the decision. */
  readonly audit: AuditPosition
}

/**
 * What is held of a request beside the audit log, which has only its salted hash. Erasing a request removes it, the `resource`
 * and the `request_hash` of its decision, and the fingerprint of the call that asked.
 */
export interface HeldRequest {
  readonly context: JsonObject | null
  /** 128 random bits, base64url. Null when the request was erased. */
  readonly salt: string | null
}

export interface StoredPolicy {
  readonly id: string
  /** The policy's revision: 1, 2, … */
  readonly version: number
  readonly document: PolicyDocument
  /** What lint said when this revision was written. */
  readonly warnings: readonly Warning[]
  readonly created_at: string
  readonly updated_at: string
  /** The key that created it. */
  readonly created_by: string | null
  /** The key that wrote this revision. */
  readonly updated_by: string | null
  /** The counter that every policy write raises, as this write left it: this revision counts from that set on. */
  readonly policy_set: number
  readonly deleted_at: string | null
}

/** A budget account that some decision has counted for. Amounts as in `Posting`. */
export interface StoredAccount extends AccountKey {
  readonly spent: string
  readonly reserved: string
}

export interface StoredAgent {
  readonly id: string
  readonly version: number
  /** Null for an agent that was seen or suspended without being registered. */
  readonly registration: {
    /** Raised by each write of the registration, also over a deletion. */
    readonly revision: number
    readonly name: string | null
    readonly description: string | null
    readonly metadata: JsonObject
    readonly created_at: string
  } | null
  /** The highest registration revision ever given, so that a new registration never repeats one. */
  readonly last_revision: number
  readonly suspended: { readonly at: string; readonly by: string; readonly reason: string | null } | null
  /** When the store first knew of the agent. */
  readonly known_at: string
}

/** When an agent asked first and last. Written with each decision. */
export interface LastSeen {
  readonly first_seen: string | null
  readonly last_seen: string | null
}

export interface KeySecret {
  /** SHA-256 of the key's text, base64url. */
  readonly hash: string
  /** What may be shown of it: `cs_sk_…9fQ2`. */
  readonly hint: string
  /** Null for the present secret; the end of the grace for one that was rotated away. */
  readonly expires_at: string | null
}

/** A session of the dashboard: its caller is the key. */
export interface KeySession {
  /** SHA-256 of the session's text, base64url. */
  readonly hash: string
  readonly started_at: string
  readonly expires_at: string
}

export interface StoredKey {
  readonly id: string
  readonly version: number
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly agents: readonly string[] | null
  readonly created_at: string
  readonly created_by: string | null
  readonly expires_at: string | null
  readonly revoked_at: string | null
  /** Newest first. */
  readonly secrets: readonly KeySecret[]
  /** Newest first; absent for a key that nobody has signed in with. */
  readonly sessions?: readonly KeySession[]
}

/** One call that must not happen twice. `key_id`, `operation` and `key` together are its name. */
export interface IdempotencyRecord {
  readonly key_id: string
  /** Method and path. */
  readonly operation: string
  readonly key: string
  /** Tells the same body from another one. Null when the request was erased: then no body is known to be the same. */
  readonly fingerprint: string | null
  /** The status of the first answer. */
  readonly status: number
  /** The id of the object that was answered; its present state is the answer to a replay. */
  readonly subject: string
  readonly created_at: string
  /** From then on the name is free again, if `subject` is no decision that is still open. */
  readonly expires_at: string
}

export interface WebhookSecret {
  /** `whsec_` and the base64 of 32 random bytes. */
  readonly text: string
  /** Null for the present secret; the end of the grace for one that was rotated away. */
  readonly expires_at: string | null
}

export interface StoredWebhook {
  readonly id: string
  readonly version: number
  readonly url: string
  /** Null for every type. */
  readonly events: readonly EventType[] | null
  readonly description: string | null
  /** Null while it is enabled. */
  readonly disabled: Webhook['disabled']
  /** Since when it gets events: when it was created, or enabled again. */
  readonly enabled_at: string
  readonly created_at: string
  readonly updated_at: string
  readonly created_by: string
  /** Newest first. */
  readonly secrets: readonly WebhookSecret[]
  readonly deleted_at: string | null
}

/** One event on its way to one endpoint. Its body is made anew for each attempt, from what never changes. */
export interface StoredDelivery {
  readonly id: string
  readonly version: number
  readonly webhook_id: string
  readonly event: {
    readonly id: string
    readonly type: WebhookType
    readonly subject: string
    readonly at: string
    /** The audit entry that tells of it; null for a test. */
    readonly entry: { readonly log: string; readonly index: number } | null
  }
  readonly created_at: string
  readonly status: DeliveryStatus
  /** Attempts so far, and those of the present schedule, which a retry by hand begins anew. */
  readonly attempt_count: number
  readonly scheduled_count: number
  /** The last of them, oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** Null when none is planned. */
  readonly next_attempt_at: string | null
}
