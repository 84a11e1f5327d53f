import type { ChangingCall } from '../idempotency.js'
import { findWebhook, type WriteWebhookDeps, writeWebhook } from './write.js'

/**
 * Deletes a webhook. The feed removes its deliveries.
 *
 * @throws DomainError not_found
 */
export function deleteWebhook(
  deps: WriteWebhookDeps,
  { caller }: Pick<ChangingCall, 'caller'>,
  id: string,
): Promise<void> {
  return deps.changes.run(caller.key.id, async () => {
    const present = await findWebhook(deps, id)
    const at = deps.clock.now().toISOString()
    const webhook = { ...present, version: present.version + 1 }
    await writeWebhook(deps, webhook, { type: 'webhook.deleted', caller, at, data: {} })
    // If the feed is working for this webhook, it removes the rest.
    await deps.store.deliveries.remove(id, null)
  })
}
