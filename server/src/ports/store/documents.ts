/**
 * The documents of the store, in the spelling of the wire. Every document has a `version`, which each write increments:
 * a write names the version that it is based on, so that two writers cannot both succeed.
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

/** The position of an audit entry in the log, and its hash; part of the permit. */
export interface AuditPosition {
  readonly log: string
  readonly index: number
  readonly leaf: string
}

/**
 * The amounts of a decision in one budget account: whole numbers of 1e-6 units, as decimal text. An open decision has
 * `reserved`; a confirmed or expired one has `spent`; otherwise both are 0.
 */
export interface Posting {
  readonly account: AccountKey
  /** The amount that was reserved for the decision; never changes. */
  readonly amount: string
  /** Whether the budget reads its amount from the request: then a confirmed amount applies to it. */
  readonly reads_amount: boolean
  readonly spent: string
  readonly reserved: string
}

export interface StoredDecision {
  readonly id: string
  readonly version: number
  readonly effect: Effect
  /** As last written. Whether the decision has expired since follows from the clock: see `presentStatus`. */
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
  /** The budgets that were asked, as they were right after. */
  readonly budgets: readonly DecisionBudget[]
  /** Empty when no budget was reserved. */
  readonly postings: readonly Posting[]
  readonly review: Review | null
  readonly outcome: Outcome | null
  /** The advice of the decision. The present advice also depends on the status. */
  readonly advice: Advice | null
  readonly shadow: readonly Shadow[]
  /** Null when the request was erased; then `resource` is null, too. */
  readonly request_hash: string | null
  /** Absent while the request is stored. */
  readonly request_erased_at?: string
  readonly key_id: string
  readonly request_id: string
  /** The trace of the request. Absent for a request without one, and in decisions of older releases. */
  readonly trace_id?: string
  /** The job that may run the action; a null name is a caller that gave none. Null while no job may run it yet. */
  readonly holder: { readonly name: string | null } | null
  /** When the holder claimed it after a review; null for a decision that was authorized at once or never. */
  readonly claimed_at: string | null
  /** The revision of the agent's registration that was evaluated; null when the agent was not registered. */
  readonly agent_revision: number | null
  readonly redeemed: { readonly by: string; readonly at: string } | null
  /** The entry that recorded the decision. */
  readonly audit: AuditPosition
}

/**
 * The stored parts of a request; the audit log has only its salted hash. Erasing a request removes them, the `resource`
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
  /** The lint warnings when this revision was written. */
  readonly warnings: readonly Warning[]
  readonly created_at: string
  readonly updated_at: string
  readonly created_by: string | null
  /** The key that wrote this revision. */
  readonly updated_by: string | null
  /** The counter that every policy write increments, after this write: this revision applies from that set on. */
  readonly policy_set: number
  readonly deleted_at: string | null
}

/** A budget account that a decision has counted in. Amounts as in `Posting`. */
export interface StoredAccount extends AccountKey {
  readonly spent: string
  readonly reserved: string
}

export interface StoredAgent {
  readonly id: string
  readonly version: number
  /** Null for an agent that was seen or suspended without being registered. */
  readonly registration: {
    /** Incremented by each write of the registration, even after a deletion. */
    readonly revision: number
    readonly name: string | null
    readonly description: string | null
    readonly metadata: JsonObject
    readonly created_at: string
    /**
     * 128 random bits, base64url, for the hash by which entries bind the registration. Absent in registrations of older
     * releases.
     */
    readonly salt?: string
  } | null
  /** The highest registration revision ever used, so that a new registration never repeats one. */
  readonly last_revision: number
  readonly suspended: { readonly at: string; readonly by: string; readonly reason: string | null } | null
  /** When the store first learned of the agent. */
  readonly known_at: string
}

/** When an agent first and last asked for a decision. Written with each decision. */
export interface LastSeen {
  readonly first_seen: string | null
  readonly last_seen: string | null
}

export interface KeySecret {
  /** SHA-256 of the key's text, base64url. */
  readonly hash: string
  /** The part that may be shown: `cs_sk_…9fQ2`. */
  readonly hint: string
  /** Null for the present secret; the end of the grace period for a rotated one. */
  readonly expires_at: string | null
}

/** A session of the dashboard, which acts as the key. */
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
  /** Newest first; absent for a key without sign-ins. */
  readonly sessions?: readonly KeySession[]
}

/** A call that must not happen twice. `key_id`, `operation` and `key` together are its name. */
export interface IdempotencyRecord {
  readonly key_id: string
  /** Method and path. */
  readonly operation: string
  readonly key: string
  /** Distinguishes the body from other bodies. Null when the request was erased: then no body counts as the same. */
  readonly fingerprint: string | null
  /** The status of the first answer. */
  readonly status: number
  /** The id of the object in the answer; a replay returns its present state. */
  readonly subject: string
  readonly created_at: string
  /** From then on the name is free again, unless `subject` is a decision that is still open. */
  readonly expires_at: string
}

export interface WebhookSecret {
  /** `whsec_` and the base64 of 32 random bytes. */
  readonly text: string
  /** Null for the present secret; the end of the grace period for a rotated one. */
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
  /** The time from which it receives events: when it was created, or last enabled. */
  readonly enabled_at: string
  readonly created_at: string
  readonly updated_at: string
  readonly created_by: string
  /** Newest first. */
  readonly secrets: readonly WebhookSecret[]
  /**
   * The salt of the hash of its settings in the log; base64url. It never changes. Absent if only an older release has
   * written it.
   */
  readonly salt?: string
  readonly deleted_at: string | null
}

/** The delivery of one event to one endpoint. Its body is built for each attempt, from data that never changes. */
export interface StoredDelivery {
  readonly id: string
  readonly version: number
  readonly webhook_id: string
  readonly event: {
    readonly id: string
    readonly type: WebhookType
    readonly subject: string
    readonly at: string
    /** The audit entry of the event; null for a test. */
    readonly entry: { readonly log: string; readonly index: number } | null
  }
  readonly created_at: string
  readonly status: DeliveryStatus
  /** The number of attempts so far, and of those in the present schedule, which a manual retry restarts at zero. */
  readonly attempt_count: number
  readonly scheduled_count: number
  /** The last attempts, oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** Null when none is planned. */
  readonly next_attempt_at: string | null
}

/** Whether a delivery is about a decision. It keeps no response once the decision or its request is gone. */
export function isOfDecision({ event }: StoredDelivery): boolean {
  return event.type.startsWith('decision.')
}

/** Whether a delivery contains a response of its endpoint. */
export function hasResponse({ attempts }: StoredDelivery): boolean {
  return attempts.some(({ response }) => response !== null)
}

/**
 * Returns the delivery without the responses of its endpoint, which may contain parts of a request that was erased
 * since.
 */
export function withoutResponses(delivery: StoredDelivery): StoredDelivery {
  return { ...delivery, attempts: delivery.attempts.map((attempt) => ({ ...attempt, response: null })) }
}
