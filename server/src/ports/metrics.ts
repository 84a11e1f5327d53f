import type { Effect, ReasonCode } from '@countersign/contract'

/** The readers of the audit log whose lag is measured. */
export const FEED_PARTS = ['budget_alarms', 'statistics', 'trees'] as const
export type FeedPart = (typeof FEED_PARTS)[number]

/** What is known of the store. Each function returns null while nothing is: then its metric has no sample. */
interface StoreReadings {
  readonly waitingReviews: () => number | null
  readonly oldestReviewSeconds: () => number | null
  readonly nearlyUsedBudgets: () => number | null
  readonly webhookLagSeconds: () => number | null
  readonly feedLagSeconds: (part: FeedPart) => number | null
  readonly checkpointAgeSeconds: () => number | null
}

/**
 * The metrics of the server. Every method is fast and never throws. Never pass a text that a caller chose (an id, a
 * path, a name), because each new text would permanently create a new series.
 */
export interface Metrics {
  /** Counts an answered request. `route` is the template of its path (`/v1/policies/{id}`), null for an unknown path. */
  answered(route: string | null, method: string, status: number, milliseconds: number): void
  /** Counts a recorded decision. */
  decided(effect: Effect, reasonCode: ReasonCode, latencyMs: number): void
  /** Measures a commit of a group of mutations, successful or not. */
  committed(milliseconds: number): void
  /** Counts a commit that failed, so that nothing is known to be durable. A conflict is no failure. */
  commitFailed(): void
  /** Sets the function that counts waiting mutations; called when the metrics are read. */
  watchWaitingMutations(read: () => number): void
  /** Sets the function that counts unread bytes of answers; called when the metrics are read. */
  watchUnreadBytes(read: () => number): void
  /** Sets the function that counts open streams of live events; called when the metrics are read. */
  watchLiveStreams(read: () => number): void
  /** Sets the functions that count the long calls in a place, and those that wait; called when the metrics are read. */
  watchLongCalls(read: { readonly inPlace: () => number; readonly waiting: () => number }): void
  /** Sets the function that tells whether the audit log was rewritten; called when the metrics are read. */
  watchLogRewritten(read: () => boolean): void
  /** Sets the function that counts the audit logs with a gap; called when the metrics are read. */
  watchLogGaps(read: () => number): void
  /** Sets the function that tells whether the server is ready; called when the metrics are read, and answers soon. */
  watchReadiness(read: () => Promise<boolean>): void
  /** Sets the function that counts the sessions of the dashboard; called when the metrics are read. */
  watchSessions(read: () => number): void
  /** Sets the functions that tell what was last measured of the store; called when the metrics are read. */
  watchStore(read: StoreReadings): void
  /** Returns all metrics as text, with the media type of that text. */
  exposition(): Promise<{ readonly mediaType: string; readonly text: string }>
}
