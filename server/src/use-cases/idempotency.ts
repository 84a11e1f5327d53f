import type { IdempotencyRecord } from '@countersign/store-port/documents'

/** The idempotency record of a call in the making. A use case is given null when the caller sent no key. */
export interface IdempotencyDraft {
  /**
   * The record, once the answer is known: the id of the object that is answered, the status, and the time. The use case
   * writes it in the same step as what it does.
   */
  readonly recordOf: (subject: string, status: number, now: string) => IdempotencyRecord
  /**
   * To be called before the use case takes anything, where the route says that it `looksItself`: a repeated call must not
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
