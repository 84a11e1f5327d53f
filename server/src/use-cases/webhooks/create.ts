import { LIMITS, type Webhook, type WebhookWrite } from '@countersign/contract'
import type { StoredWebhook } from '@countersign/store-port/documents'
import { DomainError } from '../../domain-error.js'
import type { Ids } from '../../ports/ids.js'
import type { ChangingCall } from '../idempotency.js'
import { viewWebhook } from './view.js'
import { assertUrl, toldOf, type WriteWebhookDeps, writeWebhook } from './write.js'

/**
 * Creates a webhook. It gets what happens from then on.
 *
 * @param secret signs its deliveries
 * @throws DomainError validation_failed (the URL is not allowed), limit_reached
 */
export function createWebhook(
  deps: WriteWebhookDeps & { readonly ids: Ids },
  { caller, idempotency }: ChangingCall,
  { url, events, description, enabled }: WebhookWrite,
  secret: string,
): Promise<Webhook> {
  assertUrl(deps, url)
  return deps.changes.run(caller.key.id, async () => {
    const present = await deps.store.loadWebhooks()
    if (present.length >= LIMITS.webhooks)
      throw new DomainError('limit_reached', { detail: `There may be ${LIMITS.webhooks} webhooks. Delete one first.` })
    const now = deps.clock.now().toISOString()
    const id = deps.ids.next('whk')
    const webhook: StoredWebhook = {
      id,
      version: 1,
      url,
      events: events ?? null,
      description: description ?? null,
      disabled: enabled === false ? { at: now, reason: 'requested' } : null,
      enabled_at: now,
      created_at: now,
      updated_at: now,
      created_by: caller.key.id,
      secrets: [{ text: secret, expires_at: null }],
      deleted_at: null,
    }
    const record = idempotency?.recordOf(id, now) ?? null
    const change = { type: 'webhook.created', actor: caller.key.id, at: now, data: toldOf(webhook) } as const
    await writeWebhook(deps, webhook, { ...change, idempotency: record })
    return viewWebhook(webhook)
  })
}
