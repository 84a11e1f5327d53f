/** The default listener for the errors of a receiver. */
import { warnOperator } from '@countersign/client/kernel'
import {
  type WebhookEvent,
  WebhookVerificationError,
  type WebhookVerificationErrorCode,
} from '@countersign/client/webhook'
import { BodyTooLarge, ParsedBody } from './raw-body.js'

/** Errors that mean, until a delivery has verified, that none ever will. */
const CLOCK: ReadonlySet<WebhookVerificationErrorCode> = new Set(['timestamp_too_old', 'timestamp_too_new'])

/** Receives the errors of a receiver without `onError`: warns of faults that only the operator can fix. */
export function warnOfWebhookFaults() {
  let isProven = false
  return {
    noteVerified(): void {
      isProven = true
    },
    report(error: unknown, event: WebhookEvent | null): void {
      if (WebhookVerificationError.isInstance(error)) warnOfDelivery(error, isProven)
      else if (error instanceof ParsedBody)
        warnOperator(error.code, `A delivery of a webhook cannot be checked: ${error.message}.`)
      else if (event !== null) warnOfHandler(error, String(event.type))
      else if (!(error instanceof BodyTooLarge) && error instanceof TypeError) warnOfHandler(error, 'unknown')
    },
  }
}

function warnOfDelivery({ code, message }: WebhookVerificationError, isProven: boolean): void {
  if (code === 'body_invalid') {
    warnOperator(
      'COUNTERSIGN_NO_WEBHOOK_VERIFIES',
      `webhookReceiver received a signed delivery that it cannot read (${message}). Update @countersign/client.`,
      code,
    )
  } else if (isProven) {
    return
  } else if (CLOCK.has(code)) {
    warnOperator(
      'COUNTERSIGN_CLOCK',
      `A delivery of a webhook was refused because of its time (${message}). If new deliveries are also refused, the clocks of this machine and the decision point differ: set both by NTP.`,
      'webhook',
    )
  } else if (code === 'signature_invalid') {
    warnOperator(
      'COUNTERSIGN_NO_WEBHOOK_VERIFIES',
      `webhookReceiver has refused a delivery, and has verified none so far (${message})`,
      code,
    )
  }
}

function warnOfHandler(error: unknown, type: string): void {
  const { name, message } = Object(error) as { name?: unknown; message?: unknown }
  warnOperator(
    'COUNTERSIGN_WEBHOOK_FAILED',
    `webhookReceiver could not handle an event of type ${type} (${name}: ${message}). Unless it was handled already, it was answered 500, and the decision point sends it again. Set onError to receive every failure.`,
    type,
  )
}
