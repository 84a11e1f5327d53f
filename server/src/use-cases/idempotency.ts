import type { IdempotencyRecord } from '@countersign/store-port/documents'

/**
 * Completes the idempotency record of a call once its answer is known: the id of the object that is answered, the
 * status, and the time. A use case writes it in the same step as what it does; null when the caller sent no key.
 */
export type IdempotencyDraft = (subject: string, status: number, now: string) => IdempotencyRecord

/** What all copies of a call have in common, wherever they are sent. */
export function callNameOf({
  key_id,
  operation,
  key,
}: Pick<IdempotencyRecord, 'key_id' | 'operation' | 'key'>): string {
  return JSON.stringify([key_id, operation, key])
}
