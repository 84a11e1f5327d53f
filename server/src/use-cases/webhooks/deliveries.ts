import type { Delivery } from '@countersign/contract'
import { type Caller, hasScope } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { StoredDelivery } from '../../ports/store/documents.js'
import type { DeliveryFilter } from '../../ports/store/feed.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

type DeliveryDeps = Pick<WriteWebhookDeps, 'store'>

/**
 * Lists the deliveries of a webhook, newest first.
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
  const found = await deps.store.deliveries.list(filter, page)
  return { items: found.items.map((delivery) => viewDelivery(delivery, caller)), next: found.next }
}

/** @throws DomainError not_found */
export async function findDelivery({ store }: DeliveryDeps, webhookId: string, id: string): Promise<StoredDelivery> {
  const found = await store.deliveries.get(id)
  if (found === null || found.webhook_id !== webhookId) throw new DomainError('not_found')
  return found
}

/** A delivery as the caller may see it: only a caller who may choose the endpoint sees the endpoint's answer. */
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
