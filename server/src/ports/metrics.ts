import type { Effect, ReasonCode } from '@countersign/contract'

/**
 * What the server counts and measures of itself. Every method is quick and never throws. Nothing that a caller chose
 * the text of (ids, paths, names) may be given to it: each new text would be a new series, for good.
 */
export interface Metrics {
  /** A request was answered. `route` is the template of its path (`/v1/policies/{id}`), null where there is none. */
  answered(route: string | null, method: string, status: number, milliseconds: number): void
  /** A decision was recorded. */
  decided(effect: Effect, reasonCode: ReasonCode, latencyMs: number): void
  /** A group of mutations became durable, or failed to. */
  committed(milliseconds: number): void
  /** Tells how many mutations wait, whenever the metrics are read. */
  watchWaitingMutations(read: () => number): void
  /** Tells how many bytes of answers are not read yet, whenever the metrics are read. */
  watchUnreadBytes(read: () => number): void
  /** All of it as text, and the media type of that text. */
  exposition(): Promise<{ readonly mediaType: string; readonly text: string }>
}
