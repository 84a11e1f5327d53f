import { LIMITS, type Webhook, type WebhookWrite } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { Ids } from '../../ports/ids.js'
import type { StoredWebhook } from '../../ports/store/documents.js'
import type { ChangingCall } from '../idempotency.js'
import { viewWebhook } from './view.js'
import { assertUrl, typesOf, type WriteWebhookDeps, writeWebhook } from './write.js'

/**
 * Creates a webhook, which receives events from then on.
 *
 * @param secret signs its deliveries
 * @throws DomainError validation_failed (the URL is not allowed), limit_reached
 */
export function createWebhook(
  deps: WriteWebhookDeps & { readonly ids: Pick<Ids, 'next'> },
  { caller, idempotency }: ChangingCall,
  body: WebhookWrite,
  secret: string,
): Promise<Webhook> {
  const { url, description, enabled } = body
  assertUrl(deps, url)
  return deps.changes.run(caller.key.id, async () => {
    if ((await countWebhooks(deps)) >= LIMITS.webhooks)
      throw new DomainError('limit_reached', {
        detail: `There are already ${LIMITS.webhooks} webhooks, which is the limit. Delete one first.`,
      })
    const now = deps.clock.now().toISOString()
    const id = deps.ids.next('whk')
    const webhook: StoredWebhook = {
      id,
      version: 1,
      url,
      events: typesOf(body),
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
    const change = { type: 'webhook.created', caller, at: now, data: {} } as const
    await writeWebhook(deps, webhook, { ...change, idempotency: record })
    return viewWebhook(webhook)
  })
}

/** Damaged webhooks count, too. */
async function countWebhooks({ store }: Pick<WriteWebhookDeps, 'store'>): Promise<number> {
  let damaged = 0
  const sound = await store.webhooks.load(() => {
    damaged += 1
  })
  return sound.length + damaged
}
