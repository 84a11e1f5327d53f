import type { Delivery } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Ids } from '../../ports/ids.js'
import type { StoredDelivery } from '../../ports/store/documents.js'
import type { ChangingCall } from '../idempotency.js'
import { viewDelivery } from './deliveries.js'
import { assertEnabled } from './retry.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

export interface TestWebhookDeps extends Pick<WriteWebhookDeps, 'clock' | 'store'> {
  readonly ids: Ids
  readonly writer: Pick<MutationWriter, 'writeCall'>
}

/**
 * Sends a `webhook.test` event to one webhook.
 *
 * @throws DomainError not_found, webhook_disabled
 */
export async function testWebhook(
  deps: TestWebhookDeps,
  { caller, idempotency }: ChangingCall,
  id: string,
): Promise<Delivery> {
  assertEnabled(await findWebhook(deps, id))
  const deliveryId = deps.ids.next('dlv')
  // Recorded first: a repeated call then gets this delivery, even if this process ends before the delivery is written.
  if (idempotency !== null)
    await deps.writer.writeCall(idempotency.recordOf(deliveryId, deps.clock.now().toISOString()))
  return addTest(deps, caller, id, deliveryId)
}

/**
 * Answers a repeated call. Adds the delivery if the first call could not.
 *
 * @throws DomainError not_found
 */
export async function repeatTest(
  deps: TestWebhookDeps,
  caller: Caller,
  id: string,
  deliveryId: string,
): Promise<Delivery> {
  await findWebhook(deps, id)
  const found = await deps.store.deliveries.get(deliveryId)
  return found === null ? addTest(deps, caller, id, deliveryId) : viewDelivery(found, caller)
}

async function addTest(
  { ids, clock, store }: TestWebhookDeps,
  caller: Caller,
  id: string,
  deliveryId: string,
): Promise<Delivery> {
  const now = clock.now().toISOString()
  const delivery: StoredDelivery = {
    id: deliveryId,
    version: 1,
    webhook_id: id,
    event: { id: ids.next('evt'), type: 'webhook.test', subject: id, at: now, entry: null },
    created_at: now,
    status: 'pending',
    attempt_count: 0,
    scheduled_count: 0,
    attempts: [],
    next_attempt_at: now,
  }
  await store.deliveries.add(delivery)
  return viewDelivery(delivery, caller)
}
