/** A count as the store keeps it. */
import type { Effect } from '@countersign/contract'

/** The name of the audit log reader that counts. */
export const STATISTICS_READER = 'statistics'

/** For each log, the index after the last counted entry. */
export type CountedUpTo = Readonly<Record<string, number>>

interface CountBase {
  /**
   * Only has logs that were counted further than the reader's positions say. A crash between the two repeats entries
   * that the count already includes.
   */
  readonly counted: CountedUpTo
}

export interface DecisionCount extends CountBase {
  /** Null for: all values that did not fit in the bucket, counts without a group, and entries that lack the value. */
  readonly value: string | null
  readonly decisions: number
  readonly effects: Readonly<Partial<Record<Effect, number>>>
  /** See histogram.ts. */
  readonly histogram: Readonly<Record<string, number>>
  /** Microseconds; 0 without a latency. */
  readonly max_us: number
}

/** Amounts in units of 1e-6, as decimal text. */
export interface MoneyCount extends CountBase {
  readonly policy_id: string
  /** The unit of the policy's last revision. */
  readonly unit: string
  readonly decided: string
  readonly settled: string
  readonly released: string
}
