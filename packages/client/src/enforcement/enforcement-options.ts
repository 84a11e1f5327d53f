import type { EnforcementEvent } from './enforcement-event.js'
import type { SettleOn } from './settlement.js'

/** How an enforcement point behaves: the same options in every integration. */
export interface EnforcementOptions {
  /**
   * `enforce` (default): nothing runs without a decision that permits it. `observe`: everything runs, whatever the answer
   * and also without one, and `onEvent` is told what would have been.
   */
  readonly mode?: 'enforce' | 'observe' | undefined
  /** There is one answer to a decision point that is away: `deny`. To watch before enforcing, use the mode `observe`. */
  readonly onUnavailable?: 'deny' | undefined
  /** What awaits a review: `throw` (default) a DeniedError `review_required`, or `wait` until a person has answered. */
  readonly review?: 'wait' | 'throw' | undefined
  /** A tool or function that nobody mapped to an action: `deny` (default), or `map` it to `tool.<name>`. */
  readonly unmapped?: 'deny' | 'map' | undefined
  /** Settles another way than by default; see ActionOutcome. */
  readonly settleOn?: SettleOn | undefined
  /** Time limit of asking, in milliseconds, without the wait for a review. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Time limit of the wait for a review, in milliseconds. Default 86,400,000, a day. */
  readonly reviewTimeoutMs?: number | undefined
  /** How long a caller waits for its settlement before it goes on in the background, in milliseconds. Default 1,000. */
  readonly settleTimeoutMs?: number | undefined
  /** Told of everything that happens; what it throws is ignored. */
  readonly onEvent?: ((event: EnforcementEvent) => unknown) | undefined
  /** The clock that `expires_at` is held against, in milliseconds since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined
}
