import type { IncomingMessage, ServerResponse } from 'node:http'
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '@countersign/client/webhook'
import { BodyTooLarge, readRawBody } from './raw-body.js'
import {
  readReceiverOptions,
  type WebhookReceiverOptions,
  type WebhookReceiverSettings,
} from './webhook-receiver-options.js'

/** Longer than the decision point tries to deliver an event. */
const REMEMBERED_MS = 4 * 24 * 60 * 60 * 1000

/**
 * Receives the deliveries of a webhook: verifies each, and runs the handler of its event type.
 *
 * It reads the body itself, so no body parser may run before it. It answers 204 once the handler has resolved, 400
 * without a reason to a delivery that does not verify, 413 to a body above 256 KiB, and 500 if the handler fails: the
 * decision point then sends the event again. An event is recorded as handled after its handler has resolved, and is
 * answered 204 from then on; while it is being handled, repeated deliveries wait for the same result. After a crash in
 * between, the event is handled once more, so handlers must tolerate that.
 *
 * @throws TypeError naming the faulty option
 *
 * @example
 * app.post('/countersign', webhookReceiver({
 *   secret: process.env.COUNTERSIGN_WEBHOOK_SECRET ?? '',
 *   on: { 'decision.review_requested': async ({ data }) => notifyReviewers(data.id, data.reason) },
 *   onError: (error, event) => console.error(event?.id, error),
 * }))
 *
 * Source: docs/express-permits.md "Receive webhooks".
 */
export function webhookReceiver(
  options: WebhookReceiverOptions,
): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  const settings = readReceiverOptions(options)
  /** The events in progress, by id. */
  const running = new Map<string, Promise<number>>()
  return async (req, res) => {
    const status = await statusOf(req, settings, running)
    // Other middleware may have answered in the meantime, such as a time limit.
    if (res.headersSent) return
    res.statusCode = status
    res.end()
  }
}

/** Never throws. */
async function statusOf(
  req: IncomingMessage,
  settings: WebhookReceiverSettings,
  running: Map<string, Promise<number>>,
): Promise<number> {
  let event: WebhookEvent
  try {
    const body = await readRawBody(req)
    event = await verifyWebhook({ ...settings.check, body, headers: req.headers })
  } catch (error) {
    settings.report(error, null)
    if (error instanceof BodyTooLarge) return 413
    return WebhookVerificationError.isInstance(error) ? 400 : 500
  }
  settings.noteVerified()
  const { id } = event
  const present = running.get(id)
  if (present !== undefined) return present
  const handled = handle(event, settings).finally(() => running.delete(id))
  running.set(id, handled)
  return handled
}

/** Resolves with the status of the answer; never rejects. */
async function handle(event: WebhookEvent, settings: WebhookReceiverSettings): Promise<number> {
  const { handlerOf, seen, now, report } = settings
  const handler = handlerOf(event)
  if (handler === undefined) return 204
  try {
    if (await seen.has(event.id)) return 204
    await handler(event)
  } catch (error) {
    report(error, event)
    return 500
  }
  try {
    await seen.add(event.id, now() + REMEMBERED_MS)
  } catch (error) {
    // The event was handled all the same: sending it again would only run the handler twice.
    report(error, event)
  }
  return 204
}
