import type { Webhook } from '@countersign/contract'
import { findWebhook } from '../../ports/store/webhooks.js'
import { type WriteWebhookDeps, writeWebhook } from './write.js'

/**
 * Disables a webhook whose endpoint is gone or has failed for too long. A deleted or disabled webhook stays as it is.
 */
export function disableWebhook(
  deps: Omit<WriteWebhookDeps, 'urlRules'>,
  id: string,
  reason: NonNullable<Webhook['disabled']>['reason'],
): Promise<void> {
  return deps.changes.run(null, async () => {
    const present = await findWebhook(deps.store.webhooks, id)
    if (present === null || present.disabled !== null) return
    const at = deps.clock.now().toISOString()
    const webhook = { ...present, version: present.version + 1, disabled: { at, reason }, updated_at: at }
    await writeWebhook(deps, webhook, { type: 'webhook.disabled', caller: null, at, data: { reason } })
  })
}
