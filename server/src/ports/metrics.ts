import type { Effect, ReasonCode } from '@countersign/contract'

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
  /** Returns all metrics as text, with the media type of that text. */
  exposition(): Promise<{ readonly mediaType: string; readonly text: string }>
}
