import type { Webhook } from '@countersign/contract'
import type { ChangingCall } from '../idempotency.js'
import { viewWebhook } from './view.js'
import { findWebhook, type WriteWebhookDeps, writeWebhook } from './write.js'

/** The most secrets that are valid at a time: each signs every delivery. */
const MOST_SECRETS = 5

/**
 * Gives a webhook a new secret. During the grace period, deliveries are also signed with the old one.
 *
 * @throws DomainError not_found
 */
export function rotateWebhookSecret(
  deps: WriteWebhookDeps,
  { caller, idempotency }: ChangingCall,
  id: string,
  secret: string,
  graceSeconds: number,
): Promise<Webhook> {
  return deps.changes.run(caller.key.id, async () => {
    const present = await findWebhook(deps, id)
    const now = deps.clock.now()
    const at = now.toISOString()
    const graceEnd = new Date(now.getTime() + graceSeconds * 1000).toISOString()
    const old = present.secrets
      .map((one) => ({
        ...one,
        expires_at: one.expires_at !== null && one.expires_at < graceEnd ? one.expires_at : graceEnd,
      }))
      .filter(({ expires_at }) => expires_at > at)
    const webhook = {
      ...present,
      version: present.version + 1,
      updated_at: at,
      secrets: [{ text: secret, expires_at: null }, ...old].slice(0, MOST_SECRETS),
    }
    await writeWebhook(deps, webhook, {
      type: 'webhook.updated',
      caller,
      at,
      data: { secret_rotated: true, grace_seconds: graceSeconds },
      idempotency: idempotency?.recordOf(id, at) ?? null,
    })
    return viewWebhook(webhook)
  })
}
