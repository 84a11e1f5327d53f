/** What a count holds, as the store keeps it. */
import type { Effect } from '@countersign/contract'

/** The reader of the audit log that counts. */
export const STATISTICS_READER = 'statistics'

/** For logs, the index behind the last entry that is counted. */
export type CountedUpTo = Readonly<Record<string, number>>

interface CountBase {
  /**
   * Only of logs that were counted further than the reader's positions say. A crash between the two repeats entries, and
   * those are in the count already.
   */
  readonly counted: CountedUpTo
}

export interface DecisionCount extends CountBase {
  /** Null for decisions without one (no policy decided), and for the rest. */
  readonly value: string | null
  /** Whether it counts all values for which the bucket had no place. */
  readonly rest: boolean
  readonly decisions: number
  readonly effects: Readonly<Partial<Record<Effect, number>>>
  /** See histogram.ts. */
  readonly histogram: Readonly<Record<string, number>>
  /** Microseconds; 0 without a latency. */
  readonly max_us: number
}

/** Amounts in 1e-6 units, as decimal text. */
export interface MoneyCount extends CountBase {
  readonly policy_id: string
  /** As the policy wrote it last. */
  readonly unit: string
  readonly decided: string
  readonly settled: string
  readonly released: string
}
