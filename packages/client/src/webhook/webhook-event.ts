import type {
  BudgetExceeded,
  BudgetThreshold,
  EventAgent,
  EventDecision,
  EventKey,
  EventPolicy,
  Webhook,
  WebhookType,
} from '../wire.js'

/** The `data` of each type of event. */
export interface WebhookEventData {
  readonly 'decision.created': EventDecision
  readonly 'decision.denied': EventDecision
  readonly 'decision.review_requested': EventDecision
  readonly 'decision.approved': EventDecision
  readonly 'decision.declined': EventDecision
  readonly 'decision.confirmed': EventDecision
  readonly 'decision.rejected': EventDecision
  readonly 'decision.corrected': EventDecision
  readonly 'decision.expired': EventDecision
  readonly 'budget.threshold': BudgetThreshold
  readonly 'budget.exceeded': BudgetExceeded
  readonly 'policy.created': EventPolicy
  readonly 'policy.updated': EventPolicy
  readonly 'policy.deleted': EventPolicy
  readonly 'agent.suspended': EventAgent
  readonly 'agent.resumed': EventAgent
  readonly 'key.created': EventKey
  readonly 'key.revoked': EventKey
  readonly 'webhook.disabled': Webhook
  readonly 'webhook.test': Webhook
}

/** An event that was verified. */
export interface WebhookEventOf<Type extends keyof WebhookEventData> {
  /** The same in every delivery of this event: the server may deliver it more than once. */
  readonly id: string
  readonly type: Type
  /** When it happened, RFC 3339 in UTC. */
  readonly timestamp: string
  /** Of two events about the same decision or policy, the higher number is the later state. Null for other objects. */
  readonly sequence: number | null
  readonly data: WebhookEventData[Type]
}

declare const UNKNOWN: unique symbol

/**
 * A type that only a newer server knows. At run time it is a string: read it as `String(type)`. If it were declared as
 * a string, it could also be any known type, and `data` would be unknown for each of them.
 */
export interface UnknownWebhookType {
  readonly [UNKNOWN]: true
  toString(): string
}

/** An event of a type that only a newer server knows. */
export interface UnknownWebhookEvent extends Pick<WebhookEventOf<WebhookType>, 'id' | 'timestamp' | 'sequence'> {
  readonly type: UnknownWebhookType
  readonly data: unknown
}

/** An event of a type that this package knows. `data` depends on `type`. */
export type KnownWebhookEvent = { [Type in WebhookType]: WebhookEventOf<Type> }[WebhookType]

/** The result of `verifyWebhook`. */
export type WebhookEvent = KnownWebhookEvent | UnknownWebhookEvent

/** The compiler reports a missing type. */
const KNOWN_TYPES: Readonly<Record<WebhookType, true>> = {
  'decision.created': true,
  'decision.denied': true,
  'decision.review_requested': true,
  'decision.approved': true,
  'decision.declined': true,
  'decision.confirmed': true,
  'decision.rejected': true,
  'decision.corrected': true,
  'decision.expired': true,
  'budget.threshold': true,
  'budget.exceeded': true,
  'policy.created': true,
  'policy.updated': true,
  'policy.deleted': true,
  'agent.suspended': true,
  'agent.resumed': true,
  'key.created': true,
  'key.revoked': true,
  'webhook.disabled': true,
  'webhook.test': true,
}

/** Every type that this package knows. */
export const WEBHOOK_TYPES = Object.freeze(Object.keys(KNOWN_TYPES)) as readonly WebhookType[]

export function isKnownType(type: string): type is WebhookType {
  return Object.hasOwn(KNOWN_TYPES, type)
}
