import type { Caller } from '../caller.js'
import type { IdempotencyRecord } from '../ports/store/documents.js'
import type { IdempotencyName } from '../ports/store/idempotency.js'

export interface ChangingCall {
  readonly caller: Caller
  /** Null when the caller sent no idempotency key. */
  readonly idempotency: IdempotencyDraft | null
}

/** The idempotency record of a call that is not answered yet. */
export interface IdempotencyDraft {
  /**
   * Builds the record once the answer is known: the id of the answered object, and the time. The use case writes it in
   * the same step as its own change.
   */
  readonly recordOf: (subject: string, now: string) => IdempotencyRecord
  /**
   * Call this before the use case takes a resource, where the route says that it `looksBeforeTaking`: a repeated call
   * must not hold money or a review slot, not even for a moment.
   *
   * @throws ConflictError idempotency_key when the call has a record already
   */
  readonly assertNew: () => Promise<void>
}

/** The name that all copies of a call share, on whichever server they arrive. */
export function callNameOf({ key_id, operation, key }: IdempotencyName): string {
  return JSON.stringify([key_id, operation, key])
}
