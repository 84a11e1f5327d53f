import { randomBytes } from 'node:crypto'

export const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** A new secret of a webhook, as Standard Webhooks writes it: `whsec_` and the base64 of 32 random bytes. */
export function generateWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}
