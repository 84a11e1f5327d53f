import type { Delivery } from '@countersign/contract'
import type { StoredDelivery } from '@countersign/store-port/documents'
import type { DeliveryFilter } from '@countersign/store-port/feed'
import type { Page, PageRequest } from '@countersign/store-port/store'
import { type Caller, hasScope } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

type DeliveryDeps = Pick<WriteWebhookDeps, 'store'>

/**
 * The deliveries of a webhook, newest first.
 *
 * @throws DomainError not_found
 */
export async function listDeliveries(
  deps: DeliveryDeps,
  caller: Caller,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<Delivery>> {
  await findWebhook(deps, filter.webhook_id)
  const found = await deps.store.feed.listDeliveries(filter, page)
  return { items: found.items.map((delivery) => viewDelivery(delivery, caller)), next: found.next }
}

/** @throws DomainError not_found */
export async function findDelivery({ store }: DeliveryDeps, webhookId: string, id: string): Promise<StoredDelivery> {
  const found = await store.feed.findDelivery(id)
  if (found === null || found.webhook_id !== webhookId) throw new DomainError('not_found')
  return found
}

/** A delivery as the caller may see it: what the endpoint answered is only for who may choose the endpoint. */
export function viewDelivery(delivery: StoredDelivery, caller: Caller): Delivery {
  const showsResponses = hasScope(caller, 'webhooks:write')
  return {
    id: delivery.id,
    webhook_id: delivery.webhook_id,
    event_id: delivery.event.id,
    type: delivery.event.type,
    subject: delivery.event.subject,
    event_at: delivery.event.at,
    status: delivery.status,
    created_at: delivery.created_at,
    attempt_count: delivery.attempt_count,
    attempts: delivery.attempts.map((attempt) => (showsResponses ? attempt : { ...attempt, response: null })),
    next_attempt_at: delivery.next_attempt_at,
  }
}
