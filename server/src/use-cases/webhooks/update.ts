import type { Webhook, WebhookWrite } from '@countersign/contract'
import type { StoredWebhook } from '../../ports/store/documents.js'
import type { ChangingCall } from '../idempotency.js'
import { viewWebhook } from './view.js'
import { assertUrl, findWebhook, typesOf, type WriteWebhookDeps, writeWebhook } from './write.js'

/**
 * Replaces a webhook entirely, except for its secrets. A webhook that is enabled again receives events from then on.
 *
 * @throws DomainError not_found, validation_failed (the URL is not allowed)
 */
export function updateWebhook(
  deps: WriteWebhookDeps,
  { caller }: Pick<ChangingCall, 'caller'>,
  id: string,
  body: WebhookWrite,
): Promise<Webhook> {
  const { url, description, enabled } = body
  assertUrl(deps, url)
  return deps.changes.run(caller.key.id, async () => {
    const present = await findWebhook(deps, id)
    const now = deps.clock.now().toISOString()
    const isEnabled = enabled !== false
    const isDisabledNow = !isEnabled && present.disabled === null
    const webhook: StoredWebhook = {
      ...present,
      version: present.version + 1,
      url,
      events: typesOf(body),
      description: description ?? null,
      disabled: isEnabled ? null : (present.disabled ?? { at: now, reason: 'requested' }),
      enabled_at: isEnabled && present.disabled !== null ? now : present.enabled_at,
      updated_at: now,
    }
    await writeWebhook(deps, webhook, {
      type: isDisabledNow ? 'webhook.disabled' : 'webhook.updated',
      caller,
      at: now,
      data: isDisabledNow ? { reason: 'requested' } : {},
    })
    return viewWebhook(webhook)
  })
}
