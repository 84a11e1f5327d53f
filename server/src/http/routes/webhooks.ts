import {
  DELIVERY_STATUSES,
  DeliverySchema,
  LIMITS,
  pageOf,
  ReplaySchema,
  ReplayStartedSchema,
  RotateSecretSchema,
  WebhookSchema,
  WebhookWithSecretSchema,
  WebhookWriteSchema,
} from '@countersign/contract'
import { z } from 'zod'
import type { Ids } from '../../ports/ids.js'
import { createWebhook } from '../../use-cases/webhooks/create.js'
import { deleteWebhook } from '../../use-cases/webhooks/delete.js'
import { findDelivery, listDeliveries, viewDelivery } from '../../use-cases/webhooks/deliveries.js'
import { getWebhook, listWebhooks } from '../../use-cases/webhooks/list.js'
import { replayStartedOf, replayWebhook } from '../../use-cases/webhooks/replay.js'
import { retryDelivery } from '../../use-cases/webhooks/retry.js'
import { rotateWebhookSecret } from '../../use-cases/webhooks/rotate-secret.js'
import { repeatTest, testWebhook } from '../../use-cases/webhooks/test.js'
import { updateWebhook } from '../../use-cases/webhooks/update.js'
import { assertUrl, findWebhook, type WriteWebhookDeps } from '../../use-cases/webhooks/write.js'
import { generateWebhookSecret } from '../../webhook-secret.js'
import type { Cursors } from '../cursor.js'
import { givenFilters } from '../filter.js'
import { pageQuery, replyPage } from '../pages.js'
import { type Call, type Route, route } from '../route.js'

export interface WebhookRouteDeps extends WriteWebhookDeps {
  readonly ids: Ids
  readonly cursors: Cursors
  /** Has the feed look for what is new. */
  readonly wakeFeed: () => void
}

const size = { maxBytes: LIMITS.bodyBytes, maxDepth: LIMITS.bodyDepth }
const READ = { all: ['webhooks:read'] } as const
const WRITE = { all: ['webhooks:write'] } as const

/** The secret is in the first answer only: a replay shows the webhook without it. */
const OnceWithSecretSchema = z.union([WebhookWithSecretSchema, WebhookSchema])
const withSecret = {
  description: 'The webhook with its secret. A replay does not contain the secret.',
  schema: OnceWithSecretSchema,
}

export function webhookRoutes(deps: WebhookRouteDeps): Route[] {
  const idOf = ({ params }: Pick<Call, 'params'>) => params.id as string
  const present = async (_call: Call, id: string) => ({ body: await getWebhook(deps, id) })
  const presentDelivery = async ({ caller, params }: Call, id: string) => ({
    body: viewDelivery(await findDelivery(deps, params.id as string, id), caller),
  })
  const assertKnown = (call: Call) => findWebhook(deps, idOf(call))
  return [
    route({
      method: 'POST',
      path: '/v1/webhooks',
      name: 'webhooks.create',
      isChange: true,
      summary: 'Create a webhook. Only this response contains its secret.',
      scopes: WRITE,
      body: { schema: WebhookWriteSchema, ...size },
      answer: { status: 201, ...withSecret },
      problems: ['limit_reached', 'store_unavailable'],
      replay: { present, assertAllowed: ({ body }) => assertUrl(deps, body.url) },
      handle: async (call) => {
        const secret = generateWebhookSecret()
        const webhook = await createWebhook(deps, call, call.body, secret)
        return { body: { ...webhook, secret } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks',
      name: 'webhooks.list',
      isLong: true,
      summary: 'List webhooks, newest first.',
      scopes: READ,
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'A page of webhooks.', schema: pageOf(WebhookSchema) },
      problems: ['invalid_cursor', 'store_unavailable'],
      handle: (call) => replyPage(deps.cursors, '/v1/webhooks', call, (page) => listWebhooks(deps, page)),
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks/{id}',
      name: 'webhooks.get',
      summary: 'Read a webhook without its secrets.',
      scopes: READ,
      answer: { status: 200, description: 'The webhook.', schema: WebhookSchema },
      problems: ['not_found', 'store_unavailable'],
      handle: async (call) => ({ body: await getWebhook(deps, idOf(call)) }),
    }),
    route({
      method: 'PUT',
      path: '/v1/webhooks/{id}',
      name: 'webhooks.update',
      isChange: true,
      summary: 'Replace a webhook, apart from its secrets. One that is enabled again gets what happens from then on.',
      scopes: WRITE,
      body: { schema: WebhookWriteSchema, ...size },
      answer: { status: 200, description: 'The webhook.', schema: WebhookSchema },
      problems: ['not_found', 'store_unavailable'],
      handle: async (call) => {
        const body = await updateWebhook(deps, call, idOf(call), call.body)
        deps.wakeFeed()
        return { body }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/webhooks/{id}',
      name: 'webhooks.delete',
      isChange: true,
      summary: 'Delete a webhook with its deliveries.',
      scopes: WRITE,
      answer: { status: 204, description: 'Deleted.' },
      problems: ['not_found', 'store_unavailable'],
      handle: async (call) => {
        await deleteWebhook(deps, call, idOf(call))
        return {}
      },
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/{id}/rotate-secret',
      name: 'webhooks.rotateSecret',
      isChange: true,
      summary: 'Give a webhook a new secret. Deliveries are signed with the old one too until the grace period ends.',
      scopes: WRITE,
      body: { schema: RotateSecretSchema, ...size, mayBeEmpty: true },
      answer: { status: 200, ...withSecret },
      problems: ['not_found', 'store_unavailable'],
      replay: { present, assertAllowed: assertKnown },
      handle: async (call) => {
        const secret = generateWebhookSecret()
        const grace = call.body.grace_seconds ?? LIMITS.rotateGraceSecondsDefault
        const webhook = await rotateWebhookSecret(deps, call, idOf(call), secret, grace)
        return { body: { ...webhook, secret } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/{id}/test',
      name: 'webhooks.test',
      summary: 'Send an event of the type `webhook.test` to a webhook.',
      scopes: WRITE,
      answer: { status: 202, description: 'The delivery, which is on its way.', schema: DeliverySchema },
      problems: ['not_found', 'webhook_disabled', 'store_unavailable'],
      replay: {
        present: async (call, id) => {
          const body = await repeatTest(deps, call.caller, idOf(call), id)
          deps.wakeFeed()
          return { body }
        },
        assertAllowed: assertKnown,
      },
      handle: async (call) => {
        const body = await testWebhook(deps, call, idOf(call))
        deps.wakeFeed()
        return { body }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/{id}/replay',
      name: 'webhooks.replay',
      isChange: true,
      summary: 'Send the events of a time span to a webhook once more.',
      scopes: WRITE,
      body: { schema: ReplaySchema, ...size },
      answer: { status: 202, description: 'The time span. Its deliveries follow.', schema: ReplayStartedSchema },
      problems: ['not_found', 'webhook_disabled', 'limit_reached', 'store_unavailable'],
      replay: { present: async (_call, name) => ({ body: replayStartedOf(name) }), assertAllowed: assertKnown },
      handle: async (call) => {
        const body = await replayWebhook(deps, call, idOf(call), call.body)
        deps.wakeFeed()
        return { body }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/webhooks/{id}/deliveries',
      name: 'webhooks.deliveries',
      isLong: true,
      summary: 'List the deliveries of a webhook, newest first.',
      scopes: READ,
      query: z.strictObject({ ...pageQuery, status: z.enum(DELIVERY_STATUSES).optional() }),
      answer: { status: 200, description: 'A page of deliveries.', schema: pageOf(DeliverySchema) },
      problems: ['not_found', 'invalid_cursor', 'store_unavailable'],
      handle: (call) => {
        const filter = { webhook_id: idOf(call), ...givenFilters({ status: call.query.status }) }
        return replyPage(deps.cursors, '/v1/webhooks/{id}/deliveries', call, (page) =>
          listDeliveries(deps, call.caller, filter, page),
        )
      },
    }),
    route({
      method: 'POST',
      path: '/v1/webhooks/{id}/deliveries/{delivery_id}/retry',
      name: 'webhooks.retry',
      summary: 'Try a delivery again now. Its schedule starts anew.',
      scopes: WRITE,
      answer: { status: 202, description: 'The delivery, which is on its way.', schema: DeliverySchema },
      problems: ['not_found', 'webhook_disabled', 'store_unavailable'],
      replay: {
        present: presentDelivery,
        assertAllowed: async ({ params }) => findDelivery(deps, params.id as string, params.delivery_id as string),
      },
      handle: async (call) => {
        const body = await retryDelivery(deps, call, idOf(call), call.params.delivery_id as string)
        deps.wakeFeed()
        return { body }
      },
    }),
  ]
}
