import { z } from 'zod'
import { IdSchema } from '../id.js'
import {
  DELIVERY_STATUSES,
  DeliverySchema,
  ReplaySchema,
  ReplayStartedSchema,
  RotateSecretSchema,
  WebhookSchema,
  WebhookWithSecretSchema,
  WebhookWriteSchema,
} from '../webhook.js'
import { bodyOf, emptyBody, operation, page } from './operation.js'

const READ = { all: ['webhooks:read'] } as const
const WRITE = { all: ['webhooks:write'] } as const
const params = { id: IdSchema('whk') }
const answer = { status: 200, description: 'The webhook.', schema: WebhookSchema } as const
const started = { status: 202, description: 'The pending delivery.', schema: DeliverySchema } as const

/** Only the first answer contains the secret: a replay shows the webhook without it. */
const withSecret = {
  description: 'The webhook with its secret. A replay does not contain the secret.',
  schema: z.union([WebhookWithSecretSchema, WebhookSchema]),
} as const

export const WEBHOOK_OPERATIONS = {
  'webhooks.create': operation('POST', '/v1/webhooks', {
    summary: 'Create a webhook. Only this response contains its secret.',
    scopes: WRITE,
    takesKey: true,
    body: bodyOf(WebhookWriteSchema),
    answer: { status: 201, ...withSecret },
    problems: ['limit_reached', 'store_unavailable'],
  }),
  'webhooks.list': page('/v1/webhooks', [WebhookSchema, 'A page of webhooks.'], {
    summary: 'List webhooks, newest first.',
    scopes: READ,
    problems: ['store_unavailable'],
  }),
  'webhooks.get': operation('GET', '/v1/webhooks/{id}', {
    summary: 'Read a webhook without its secrets.',
    scopes: READ,
    params,
    answer,
    problems: ['not_found', 'store_unavailable'],
  }),
  'webhooks.update': operation('PUT', '/v1/webhooks/{id}', {
    summary: 'Replace a webhook except its secrets. A webhook that is enabled again receives only new events.',
    scopes: WRITE,
    params,
    body: bodyOf(WebhookWriteSchema),
    answer,
    problems: ['not_found', 'store_unavailable'],
  }),
  'webhooks.delete': operation('DELETE', '/v1/webhooks/{id}', {
    summary: 'Delete a webhook with its deliveries.',
    scopes: WRITE,
    params,
    answer: { status: 204, description: 'Deleted.' },
    problems: ['not_found', 'store_unavailable'],
  }),
  'webhooks.rotateSecret': operation('POST', '/v1/webhooks/{id}/rotate-secret', {
    summary: 'Give a webhook a new secret. Until the grace period ends, deliveries are signed with both.',
    scopes: WRITE,
    takesKey: true,
    params,
    body: { ...bodyOf(RotateSecretSchema), mayBeEmpty: true },
    answer: { status: 200, ...withSecret },
    problems: ['not_found', 'store_unavailable'],
  }),
  'webhooks.test': operation('POST', '/v1/webhooks/{id}/test', {
    summary: 'Send an event of the type `webhook.test` to a webhook.',
    scopes: WRITE,
    takesKey: true,
    params,
    body: emptyBody('WebhookTest', 'Test of a webhook'),
    answer: started,
    problems: ['not_found', 'webhook_disabled', 'store_unavailable'],
  }),
  'webhooks.replay': operation('POST', '/v1/webhooks/{id}/replay', {
    summary: 'Send the events of a time span to a webhook again.',
    scopes: WRITE,
    takesKey: true,
    params,
    body: bodyOf(ReplaySchema),
    answer: { status: 202, description: 'The time span. Its deliveries follow.', schema: ReplayStartedSchema },
    problems: ['not_found', 'webhook_disabled', 'limit_reached', 'store_unavailable'],
  }),
  'webhooks.deliveries': page(
    '/v1/webhooks/{id}/deliveries',
    [DeliverySchema, 'A page of deliveries.'],
    {
      summary: 'List the deliveries of a webhook, newest first.',
      scopes: READ,
      params,
      problems: ['not_found', 'store_unavailable'],
    },
    { status: z.enum(DELIVERY_STATUSES).optional() },
  ),
  'webhooks.retry': operation('POST', '/v1/webhooks/{id}/deliveries/{delivery_id}/retry', {
    summary: 'Retry a delivery now. Its retry schedule starts over.',
    scopes: WRITE,
    takesKey: true,
    params: { ...params, delivery_id: IdSchema('dlv') },
    body: emptyBody('DeliveryRetry', 'Retry of a delivery'),
    answer: started,
    problems: ['not_found', 'webhook_disabled', 'store_unavailable'],
  }),
}
