import type { Effect, ReasonCode } from '@countersign/contract'

/**
 * The metrics of the server. Every method is fast and never throws. Never pass a text that a caller chose (an id, a path, a
 * name): each new text would create a new series for good.
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
  /** All metrics as text, with the media type of that text. */
  exposition(): Promise<{ readonly mediaType: string; readonly text: string }>
}
