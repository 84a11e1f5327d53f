import type { StoredWebhook } from './documents.js'
import type { OnDamaged } from './errors.js'

export interface WebhookStore {
  /** Loads the webhooks in the order of their ids. @param onDamaged as in KeyStore */
  load(onDamaged?: OnDamaged): Promise<readonly StoredWebhook[]>
}

/**
 * Returns null when there is none. A damaged row of another webhook does not matter.
 *
 * @throws DamagedRecordError when its own row is damaged
 */
export async function findWebhook(webhooks: WebhookStore, id: string): Promise<StoredWebhook | null> {
  const all = await webhooks.load((damaged) => {
    if (damaged.id === id) throw damaged
  })
  return all.find((webhook) => webhook.id === id) ?? null
}
