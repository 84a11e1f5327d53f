import type { Delivery } from '@countersign/contract'
import type { StoredDelivery } from '@countersign/store-port/documents'
import type { Caller } from '../../caller.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Ids } from '../../ports/ids.js'
import type { ChangingCall } from '../idempotency.js'
import { viewDelivery } from './deliveries.js'
import { assertEnabled } from './retry.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

export interface TestWebhookDeps extends Pick<WriteWebhookDeps, 'clock' | 'store'> {
  readonly ids: Ids
  readonly writer: Pick<MutationWriter, 'writeCall'>
}

/**
 * Sends an event of the type `webhook.test` to one webhook.
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
  // First: whoever calls again then gets this delivery, even if this process ends before it is written.
  if (idempotency !== null)
    await deps.writer.writeCall(idempotency.recordOf(deliveryId, deps.clock.now().toISOString()))
  return addTest(deps, caller, id, deliveryId)
}

/**
 * What a call that was made before answers. It adds the delivery if that call could not.
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
  const found = await deps.store.feed.findDelivery(deliveryId)
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
  await store.feed.addDelivery(delivery)
  return viewDelivery(delivery, caller)
}
