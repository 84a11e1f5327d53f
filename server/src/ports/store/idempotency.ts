import type { IdempotencyRecord } from './documents.js'

export type IdempotencyName = Pick<IdempotencyRecord, 'key_id' | 'operation' | 'key'>

export interface IdempotencyStore {
  /** Returns the record of that name that is still valid at `now`. */
  get(name: IdempotencyName, now: string): Promise<IdempotencyRecord | null>
  /** Removes expired records, a bounded number per call, and returns how many; 0 means that none are left. */
  purge(now: string): Promise<number>
}
