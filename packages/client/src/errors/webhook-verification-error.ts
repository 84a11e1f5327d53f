import { CountersignError, errorFamily } from './countersign-error.js'
import { printable } from './printable.js'

const FAMILY = 'WebhookVerificationError'

/**
 * The check that failed, in the order of the checks:
 *
 * - `header_missing`: `webhook-id`, `webhook-timestamp` or `webhook-signature` is absent or empty;
 * - `header_duplicate`: one of them is there more than once;
 * - `id_invalid`: the id is not 1 to 128 letters, digits, `_` or `-`;
 * - `timestamp_invalid`: the timestamp is not whole seconds since 1970, in digits only;
 * - `timestamp_too_old`, `timestamp_too_new`: it is further from now than the tolerance;
 * - `signature_invalid`: no `v1` signature fits the id, the timestamp, the body and a secret;
 * - `body_invalid`: the body is signed, but it is not an event;
 * - `replay_check_failed`: `seen` does not say whether the delivery was seen before;
 * - `replayed`: it was seen before.
 */
export type WebhookVerificationErrorCode =
  | 'header_missing'
  | 'header_duplicate'
  | 'id_invalid'
  | 'timestamp_invalid'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'signature_invalid'
  | 'body_invalid'
  | 'replay_check_failed'
  | 'replayed'

/**
 * A delivery does not verify: do not act on it, no matter who sent it. Code and message are for the operator, not for
 * the sender.
 *
 * `cause` is the error that `seen` threw. Source: docs/sdk.md "Receive webhooks".
 */
export class WebhookVerificationError extends CountersignError {
  readonly code: WebhookVerificationErrorCode

  constructor(code: WebhookVerificationErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(FAMILY, printable(message), options)
    this.code = code
  }

  static override isInstance(value: unknown): value is WebhookVerificationError {
    return errorFamily(value) === FAMILY
  }
}
