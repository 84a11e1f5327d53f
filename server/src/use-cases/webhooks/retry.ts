import type { Delivery } from '@countersign/contract'
import type { StoredWebhook } from '@countersign/store-port/documents'
import { DomainError } from '../../domain-error.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { ChangingCall } from '../idempotency.js'
import { findDelivery, viewDelivery } from './deliveries.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

export interface RetryDeliveryDeps extends Pick<WriteWebhookDeps, 'clock' | 'store'> {
  readonly writer: Pick<MutationWriter, 'writeCall'>
}

/**
 * Tries a delivery again now, whatever became of it. Its schedule begins anew. The call is recorded afterwards: when that
 * fails, the same call tries once more, as receivers have to expect anyway.
 *
 * @throws DomainError not_found, webhook_disabled
 */
export async function retryDelivery(
  { clock, store, writer }: RetryDeliveryDeps,
  { caller, idempotency }: ChangingCall,
  webhookId: string,
  id: string,
): Promise<Delivery> {
  const webhook = await findWebhook({ store }, webhookId)
  for (;;) {
    const present = await findDelivery({ store }, webhookId, id)
    assertEnabled(webhook)
    const now = clock.now().toISOString()
    const again = { version: present.version + 1, status: 'pending', scheduled_count: 0, next_attempt_at: now } as const
    const delivery = { ...present, ...again }
    // An attempt may have ended meanwhile.
    if ((await store.feed.updateDeliveries([delivery])).length === 0) continue
    if (idempotency !== null) await writer.writeCall(idempotency.recordOf(id, now))
    return viewDelivery(delivery, caller)
  }
}

/** @throws DomainError webhook_disabled */
export function assertEnabled({ disabled }: StoredWebhook): void {
  if (disabled !== null) throw new DomainError('webhook_disabled')
}
