/** Signs deliveries as Standard Webhooks 1.0.0 says (https://github.com/standard-webhooks/standard-webhooks), scheme `v1`. */
import { createHmac } from 'node:crypto'
import type { WebhookSecret } from '@countersign/store-port/documents'
import { SECRET_PREFIX } from '../../webhook-secret.js'

/** The secrets that count at this time, newest first: after a rotation the old one counts until its grace is over. */
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

/** The headers that let a receiver check who sent a message, with a signature by each secret. */
export function signatureHeaders({ id, at, body }: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
