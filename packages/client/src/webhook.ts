/**
 * `@countersign/client/webhook`: verifies deliveries of webhooks. It only needs Web Crypto, so it runs on Node, in edge
 * runtimes and in browsers.
 *
 * Source: docs/sdk.md "Receive webhooks".
 */
export {
  WebhookVerificationError,
  type WebhookVerificationErrorCode,
} from './errors/webhook-verification-error.js'
export { SeenWebhooks, type SeenWebhooksOptions, type WebhookMemory } from './webhook/seen-webhooks.js'
export type { WebhookHeaders } from './webhook/signed-headers.js'
export { readWebhookChecks, type VerifyWebhookOptions, verifyWebhook } from './webhook/verify-webhook.js'
export {
  type KnownWebhookEvent,
  type UnknownWebhookEvent,
  type UnknownWebhookType,
  WEBHOOK_TYPES,
  type WebhookEvent,
  type WebhookEventData,
  type WebhookEventOf,
} from './webhook/webhook-event.js'
