/** The events that webhooks and live events send. `event-catalogue.ts` says when each is sent and what it contains. */
import { z } from 'zod'
import { BudgetAccountSchema } from './account.js'
import { EventDecisionSchema } from './decision.js'
import type { Immutable } from './immutable.js'
import { TimestampSchema } from './timestamp.js'

/** Every type that a webhook can ask for, in the order of the catalogue. */
export const EVENT_TYPES = [
  'decision.created',
  'decision.denied',
  'decision.review_requested',
  'decision.approved',
  'decision.declined',
  'decision.confirmed',
  'decision.rejected',
  'decision.corrected',
  'decision.expired',
  'budget.threshold',
  'budget.exceeded',
  'policy.created',
  'policy.updated',
  'policy.deleted',
  'agent.suspended',
  'agent.resumed',
  'key.created',
  'key.revoked',
  'webhook.disabled',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/**
 * Every type that a webhook may receive: also the event of POST /v1/webhooks/{id}/test, which cannot be subscribed to.
 */
export const WEBHOOK_TYPES = [...EVENT_TYPES, 'webhook.test'] as const
export type WebhookType = (typeof WEBHOOK_TYPES)[number]

/** The types of live events: every change of a decision, once. */
export const LIVE_TYPES = [
  'decision.created',
  'decision.approved',
  'decision.declined',
  'decision.claimed',
  'decision.confirmed',
  'decision.rejected',
  'decision.corrected',
  'decision.expired',
  'decision.redeemed',
] as const
export type LiveType = (typeof LIVE_TYPES)[number]

/**
 * A created decision with one of these effects also sends a second event, so that a receiver can subscribe to these
 * alone.
 */
const SECOND_TYPES: Readonly<Record<string, EventType>> = {
  deny: 'decision.denied',
  review: 'decision.review_requested',
}

/**
 * Returns the types of the events that one change sends, in order.
 *
 * @param type of its audit entry or live event
 * @param effect of its decision, if it concerns one
 */
export function typesOfChange<Type extends string>(type: Type, effect: unknown): readonly (Type | EventType)[] {
  const second = type === 'decision.created' ? SECOND_TYPES[effect as string] : undefined
  return second === undefined ? [type] : [type, second]
}

/** The description of `sequence`. */
const sequence = z.int().nullable().meta({
  description:
    'Counts the changes of the decision or policy, starting at 1. If two events are about the same object, the higher number is the later state. Null for other objects.',
})

/**
 * The body that a webhook receives, and the `data` of a live event. Its own `data` depends on `type`: see the
 * catalogue.
 */
export interface Event<Type extends string = WebhookType, Data = unknown> {
  readonly type: Type
  /** When the change happened. */
  readonly timestamp: string
  readonly sequence: number | null
  readonly data: Data
}

/** The body of an event of one type. */
export function eventSchema<Type extends string, Data extends z.ZodType>(type: Type, data: Data) {
  return z.strictObject({ type: z.literal(type), timestamp: TimestampSchema, sequence, data })
}

/** A live event. */
export const LiveEventSchema = z
  .strictObject({ type: z.enum(LIVE_TYPES), timestamp: TimestampSchema, sequence, data: EventDecisionSchema })
  .meta({ id: 'LiveEvent' })
export type LiveEvent = Immutable<z.infer<typeof LiveEventSchema>>

const budgetShape = {
  ...BudgetAccountSchema.omit({ deleted_at: true }).shape,
  decision_id: z.string().meta({ description: 'The decision that triggered the event.' }),
}

/** A budget that has reached a threshold. */
export const BudgetThresholdSchema = z
  .strictObject({
    ...budgetShape,
    threshold: z.union([z.literal(50), z.literal(80), z.literal(100)]).meta({
      description: 'The percentage of the limit that is spent or reserved.',
    }),
  })
  .meta({ id: 'BudgetThreshold' })
export type BudgetThreshold = Immutable<z.infer<typeof BudgetThresholdSchema>>

/** A budget that a decision was refused for. */
export const BudgetExceededSchema = z
  .strictObject({ ...budgetShape, amount: z.number().meta({ description: 'The requested amount.' }) })
  .meta({ id: 'BudgetExceeded' })
export type BudgetExceeded = Immutable<z.infer<typeof BudgetExceededSchema>>
