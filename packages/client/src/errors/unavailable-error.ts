import { CountersignError, errorFamily } from './countersign-error.js'

const FAMILY = 'UnavailableError'

/**
 * - `timeout`: no complete answer within the time limit;
 * - `connection`: refused, reset, cut off, name not found, TLS failed, client closed;
 * - `bad_answer`: an answer that is not the decision point's (not JSON, a redirect, too large) or does not fit the
 *   question.
 */
export type UnavailableKind = 'timeout' | 'connection' | 'bad_answer'

/**
 * There is no usable answer: nothing was permitted, and the action must not run.
 *
 * `cause` is the underlying connection fault, if any. A decision may have been recorded all the same: asking again with
 * the same `idempotencyKey` and `holder` returns it. Source: docs/sdk.md "Errors".
 */
export class UnavailableError extends CountersignError {
  readonly kind: UnavailableKind
  /** HTTP status of a bad answer; null when there was no answer. */
  readonly status: number | null

  constructor(kind: UnavailableKind, message: string, options: { cause?: unknown; status?: number } = {}) {
    super(FAMILY, message, options)
    this.kind = kind
    this.status = options.status ?? null
  }

  static override isInstance(value: unknown): value is UnavailableError {
    return errorFamily(value) === FAMILY
  }
}
