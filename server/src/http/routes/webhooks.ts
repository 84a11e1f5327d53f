import { LIMITS } from '@countersign/contract'
import { withDeadline } from '../../concurrency/with-deadline.js'
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
import { givenFilters, replyPage } from '../pages.js'
import { type Call, type CallOf, routesOf } from '../route.js'

export interface WebhookRouteDeps extends WriteWebhookDeps {
  readonly ids: Ids
  readonly cursors: Cursors
  readonly feed: {
    /** Makes the feed look for new entries. */
    readonly wake: () => void
    /** Resolves when everything that is durable now applies to all deliveries that begin later. */
    readonly webhooksChanged: () => Promise<void>
  }
}

/**
 * How long an answer waits for its change to take effect. A feed that has not read the change by then sends nothing
 * until it has.
 */
const IN_FORCE_MS = 1000

export function webhookRoutes(deps: WebhookRouteDeps) {
  const present = async (_call: Call, id: string) => ({ body: await getWebhook(deps, id) })
  const presentDelivery = async ({ caller, params }: CallOf<'webhooks.retry'>, id: string) => ({
    body: viewDelivery(await findDelivery(deps, params.id, id), caller),
  })
  const assertKnown = ({ params }: Pick<CallOf<'webhooks.get'>, 'params'>) => findWebhook(deps, params.id)
  return routesOf({
    'webhooks.create': {
      isChange: true,
      replay: { present, assertAllowed: ({ body }) => assertUrl(deps, body.url) },
      handle: async (call) => {
        const secret = generateWebhookSecret()
        const webhook = await createWebhook(deps, call, call.body, secret)
        return { body: { ...webhook, secret } }
      },
    },
    'webhooks.list': { handle: (call) => replyPage(deps.cursors, call, (page) => listWebhooks(deps, page)) },
    'webhooks.get': { handle: async (call) => ({ body: await getWebhook(deps, call.params.id) }) },
    'webhooks.update': {
      isChange: true,
      handle: async (call) => {
        const body = await updateWebhook(deps, call, call.params.id, call.body)
        await inForce(deps)
        return { body }
      },
    },
    'webhooks.delete': {
      isChange: true,
      handle: async (call) => {
        await deleteWebhook(deps, call, call.params.id)
        await inForce(deps)
        return {}
      },
    },
    'webhooks.rotateSecret': {
      isChange: true,
      replay: { present, assertAllowed: assertKnown },
      handle: async (call) => {
        const secret = generateWebhookSecret()
        const grace = call.body.grace_seconds ?? LIMITS.rotateGraceSecondsDefault
        const webhook = await rotateWebhookSecret(deps, call, call.params.id, secret, grace)
        await inForce(deps)
        return { body: { ...webhook, secret } }
      },
    },
    'webhooks.test': {
      replay: {
        present: async (call, id) => {
          const body = await repeatTest(deps, call.caller, call.params.id, id)
          deps.feed.wake()
          return { body }
        },
        assertAllowed: assertKnown,
      },
      handle: async (call) => {
        const body = await testWebhook(deps, call, call.params.id)
        deps.feed.wake()
        return { body }
      },
    },
    'webhooks.replay': {
      isChange: true,
      replay: { present: async (_call, name) => ({ body: replayStartedOf(name) }), assertAllowed: assertKnown },
      handle: async (call) => {
        const body = await replayWebhook(deps, call, call.params.id, call.body)
        deps.feed.wake()
        return { body }
      },
    },
    'webhooks.deliveries': {
      handle: (call) => {
        const filter = { webhook_id: call.params.id, ...givenFilters({ status: call.query.status }) }
        return replyPage(deps.cursors, call, (page) => listDeliveries(deps, call.caller, filter, page))
      },
    },
    'webhooks.retry': {
      replay: {
        present: presentDelivery,
        assertAllowed: async ({ params }) => findDelivery(deps, params.id, params.delivery_id),
      },
      handle: async (call) => {
        const body = await retryDelivery(deps, call, call.params.id, call.params.delivery_id)
        deps.feed.wake()
        return { body }
      },
    },
  })
}

/** Waits until a durable change applies: either the feed has read it, or the feed sends nothing until it has. */
async function inForce({ feed }: WebhookRouteDeps): Promise<void> {
  const late = () => new Error('The feed is busy.')
  await withDeadline(feed.webhooksChanged(), IN_FORCE_MS, late).catch(() => {})
}
