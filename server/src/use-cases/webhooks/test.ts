import type { Delivery } from '@countersign/contract'
import type { StoredDelivery } from '@countersign/store-port/documents'
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
  { ids, clock, store, writer }: TestWebhookDeps,
  { caller, idempotency }: ChangingCall,
  id: string,
): Promise<Delivery> {
  assertEnabled(await findWebhook({ store }, id))
  const now = clock.now().toISOString()
  const delivery: StoredDelivery = {
    id: ids.next('dlv'),
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
  if (idempotency !== null) await writer.writeCall(idempotency.recordOf(delivery.id, now))
  return viewDelivery(delivery, caller)
}
