import type { Delivery } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { MutationWriter } from '../../mutation-writer.js'
import type { StoredWebhook } from '../../ports/store/documents.js'
import type { ChangingCall } from '../idempotency.js'
import { findDelivery, viewDelivery } from './deliveries.js'
import { findWebhook, type WriteWebhookDeps } from './write.js'

export interface RetryDeliveryDeps extends Pick<WriteWebhookDeps, 'clock' | 'store'> {
  readonly writer: Pick<MutationWriter, 'writeCall'>
}

/**
 * Tries a delivery again now, in any state, and restarts its schedule. The call is recorded afterwards: if that fails,
 * a repeated call tries once more, which receivers have to expect anyway.
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
    // An attempt may have ended since the read.
    if ((await store.deliveries.update([delivery])).length === 0) continue
    if (idempotency !== null) await writer.writeCall(idempotency.recordOf(id, now))
    return viewDelivery(delivery, caller)
  }
}

/** @throws DomainError webhook_disabled */
export function assertEnabled({ disabled }: StoredWebhook): void {
  if (disabled !== null) throw new DomainError('webhook_disabled')
}
