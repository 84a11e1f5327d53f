import { z } from 'zod'
import { EVENT_TYPES, WEBHOOK_TYPES } from './event.js'
import { countedItem } from './fault-count.js'
import { IdSchema } from './id.js'
import type { Immutable } from './immutable.js'
import { LIMITS } from './limits.js'
import { textOf } from './names.js'
import { TimestampSchema } from './timestamp.js'

/**
 * An endpoint that receives events, as its owner writes it: a PUT replaces it entirely. Whether the server may call the
 * URL is checked separately (docs/webhooks.md "Which URLs are allowed").
 */
export const WebhookWriteSchema = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .max(LIMITS.webhookUrlLength)
      .meta({
        description: 'An `https` URL without credentials, on port 443 or 8443.',
        examples: ['https://example.com/countersign'],
      }),
    events: z
      .array(countedItem(z.enum(EVENT_TYPES)))
      .min(1)
      .nullish()
      .meta({ description: 'The types of events to send. Default: every type.' }),
    description: textOf(0, LIMITS.descriptionLength).nullish(),
    enabled: z.boolean().nullish().meta({ description: 'A disabled webhook receives no events. Default: true.' }),
  })
  .meta({ id: 'WebhookWrite', title: 'Webhook' })
export type WebhookWrite = Immutable<z.infer<typeof WebhookWriteSchema>>

const webhookShape = {
  id: IdSchema('whk'),
  url: z.string(),
  events: z.array(z.enum(EVENT_TYPES)).nullable().meta({ description: 'Null for every type.' }),
  description: z.string().nullable(),
  enabled: z.boolean(),
  disabled: z
    .strictObject({
      at: TimestampSchema,
      reason: z.enum(['requested', 'gone', 'failing']).meta({
        description:
          '`requested`: by a PUT. `gone`: the endpoint responded with 410. `failing`: no delivery succeeded for 5 days.',
      }),
    })
    .nullable()
    .meta({ description: 'Null while the webhook is enabled.' }),
  created_at: TimestampSchema,
  updated_at: TimestampSchema,
  created_by: z.string().meta({ description: 'The API key that created it.' }),
}

/** An endpoint as the server shows it, without its secrets. */
export const WebhookSchema = z.strictObject(webhookShape).meta({ id: 'Webhook' })
export type Webhook = Immutable<z.infer<typeof WebhookSchema>>

/** The same with its new secret, which only the first answer of create and rotate-secret contains. */
export const WebhookWithSecretSchema = z
  .strictObject({
    ...webhookShape,
    secret: z.string().meta({ description: 'Signs the deliveries. It is shown only once.', examples: ['whsec_…'] }),
  })
  .meta({ id: 'WebhookWithSecret' })
export type WebhookWithSecret = Immutable<z.infer<typeof WebhookWithSecretSchema>>

/** Gives an endpoint a new secret. */
export const RotateSecretSchema = z
  .strictObject({
    grace_seconds: z
      .int()
      .min(0)
      .max(LIMITS.rotateGraceSeconds)
      .nullish()
      .meta({
        description: `How long deliveries are also signed with the old secret, in seconds. Default: ${LIMITS.rotateGraceSecondsDefault}.`,
      }),
  })
  .meta({ id: 'RotateSecret', title: 'Rotation' })
export type RotateSecret = Immutable<z.infer<typeof RotateSecretSchema>>

/** Sends the events of a time span once more. */
export const ReplaySchema = z
  .strictObject({
    since: TimestampSchema.meta({ description: 'Inclusive.' }),
    until: TimestampSchema.nullish().meta({ description: 'Exclusive. Default: now.' }),
  })
  .meta({ id: 'Replay', title: 'Replay' })
export type Replay = Immutable<z.infer<typeof ReplaySchema>>

/** What a replay will send: its deliveries appear in the list as they are created. */
export const ReplayStartedSchema = z
  .strictObject({ webhook_id: IdSchema('whk'), since: TimestampSchema, until: TimestampSchema })
  .meta({ id: 'ReplayStarted' })
export type ReplayStarted = Immutable<z.infer<typeof ReplayStartedSchema>>

/** The states of a delivery. `failed` is the dead letter: it is not tried again unless it is retried by hand. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** One attempt of a delivery. `status` null: there was no answer, and `error` says why. */
export const DeliveryAttemptSchema = z
  .strictObject({
    at: TimestampSchema,
    status: z.int().nullable().meta({ description: 'HTTP status of the response. Null if there was none.' }),
    error: z.string().nullable().meta({ description: 'Why there was no response, or why it counts as a failure.' }),
    response: z.string().nullable().meta({
      description: 'The first 256 characters of the response body. Null for a key without `webhooks:write`.',
    }),
    duration_ms: z.int(),
  })
  .meta({ id: 'DeliveryAttempt' })
export type DeliveryAttempt = Immutable<z.infer<typeof DeliveryAttemptSchema>>

/** The delivery of one event to one endpoint. */
export const DeliverySchema = z
  .strictObject({
    id: IdSchema('dlv'),
    webhook_id: IdSchema('whk'),
    event_id: IdSchema('evt').meta({ description: 'The `webhook-id` of every attempt.' }),
    type: z.enum(WEBHOOK_TYPES),
    subject: z.string().meta({ description: 'Id of the object that the event is about.' }),
    event_at: TimestampSchema.meta({ description: 'When the event happened.' }),
    status: z.enum(DELIVERY_STATUSES),
    created_at: TimestampSchema,
    attempt_count: z.int(),
    attempts: z.array(DeliveryAttemptSchema).meta({ description: 'The last 20, oldest first.' }),
    next_attempt_at: TimestampSchema.nullable().meta({ description: 'Null if no attempt is scheduled.' }),
  })
  .meta({ id: 'Delivery' })
export type Delivery = Immutable<z.infer<typeof DeliverySchema>>
