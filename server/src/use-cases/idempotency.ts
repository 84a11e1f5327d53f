import type { IdempotencyRecord } from '@countersign/store-port/documents'
import type { Caller } from '../caller.js'

/** A call that may change something. */
export interface ChangingCall {
  readonly caller: Caller
  /** Null when the caller sent no idempotency key. */
  readonly idempotency: IdempotencyDraft | null
}

/** The idempotency record of a call in the making. */
export interface IdempotencyDraft {
  /**
   * The record, once the answer is known: the id of the object that is answered, and the time. The use case writes it in
   * the same step as what it does.
   */
  readonly recordOf: (subject: string, now: string) => IdempotencyRecord
  /**
   * To be called before the use case takes anything, where the route says that it `looksBeforeTaking`: a repeated call must not
   * hold money or a review slot, not even for a moment.
   *
   * @throws ConflictError idempotency_key when the call has a record already
   */
  readonly assertNew: () => Promise<void>
}

/** What all copies of a call have in common, wherever they are sent. */
export function callNameOf({
  key_id,
  operation,
  key,
}: Pick<IdempotencyRecord, 'key_id' | 'operation' | 'key'>): string {
  return JSON.stringify([key_id, operation, key])
}
