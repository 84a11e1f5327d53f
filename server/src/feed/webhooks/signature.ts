/**
 * Signs deliveries as Standard Webhooks 1.0.0 specifies (https://github.com/standard-webhooks/standard-webhooks),
 * scheme `v1`.
 */
import { createHmac } from 'node:crypto'
import type { WebhookSecret } from '../../ports/store/documents.js'
import { SECRET_PREFIX } from '../../webhook-secret.js'

/**
 * Returns the secrets that are valid at this time, newest first: after a rotation the old one stays valid for its grace
 * period.
 */
export function secretsAt(secrets: readonly WebhookSecret[], now: string): readonly string[] {
  return secrets.filter(({ expires_at }) => expires_at === null || expires_at > now).map(({ text }) => text)
}

export interface SignedMessage {
  /** The same for every attempt. */
  readonly id: string
  /** When it is sent. */
  readonly at: Date
  readonly body: Buffer
}

/** Returns the headers of a delivery, except its length. */
export function deliveryHeaders(message: SignedMessage, secrets: readonly string[]): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Countersign',
    ...signatureHeaders(message, secrets),
  }
}

/** Returns the headers that let a receiver verify the sender of a message, with one signature for each secret. */
export function signatureHeaders({ id, at, body }: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
