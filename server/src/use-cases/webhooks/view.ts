import type { Webhook } from '@countersign/contract'
import type { StoredWebhook } from '../../ports/store/documents.js'

/** A webhook as the API shows it, without its secrets. */
export function viewWebhook(webhook: StoredWebhook): Webhook {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events === null ? null : [...webhook.events],
    description: webhook.description,
    enabled: webhook.disabled === null,
    disabled: webhook.disabled,
    created_at: webhook.created_at,
    updated_at: webhook.updated_at,
    created_by: webhook.created_by,
  }
}
