/** What became of an action, and what the decision point is told about it. */

/** What a settlement says. */
export type Settlement =
  | {
      /** The action happened; without `amount` it cost what was reserved. */
      readonly settle: 'confirm'
      /** What was really spent, in the unit of the budget. */
      readonly amount?: number | undefined
      readonly note?: string | undefined
    }
  /** The action surely did not happen. */
  | { readonly settle: 'reject'; readonly reason?: string | undefined }
  /** Nobody knows, or it is paused: the decision stays as it is until it expires, and then counts as spent. */
  | { readonly settle: 'leave' }

/**
 * How an action that was begun ended.
 *
 * - `succeeded`: by default confirmed, with `amount` when the action said one;
 * - `failed`: it ran and failed; by default rejected;
 * - `unknown`: it was begun and nobody knows how far it came (time ran out, the caller left, a connection broke off); left.
 *
 * With the option `onError` every outcome that has an `error` is settled by that.
 */
export type ActionOutcome =
  | { readonly kind: 'succeeded'; readonly value?: unknown; readonly amount?: number | undefined }
  | { readonly kind: 'failed'; readonly error?: unknown }
  | { readonly kind: 'unknown'; readonly error?: unknown }

/** Says what to settle after an outcome; undefined for the default. */
export type SettleOn = (outcome: ActionOutcome) => Settlement | undefined

/**
 * Where a settlement stands.
 *
 * - `settled`: the decision point knows;
 * - `queued`: it could not be reached in time, and is told in the background;
 * - `refused`: it rejects the settlement, or the settlement is invalid: the decision expires;
 * - `dropped`: given up, because the queue is full or closed: the decision expires;
 * - `left`: there was nothing to tell.
 */
export type SettlementState = 'settled' | 'queued' | 'refused' | 'dropped' | 'left'

/** What was settled, by the first call, and where it stands. */
export interface SettlementResult {
  readonly settle: Settlement['settle']
  readonly state: SettlementState
}

/**
 * Settles one admission: exactly once, by whichever call comes first. Later calls change nothing and return the promise of
 * the first. No call ever throws or rejects: a settlement that fails neither undoes nor hides what the action did.
 */
export interface Settle {
  /** The action happened; without `amount` it cost what was reserved. */
  confirm(confirmation?: {
    readonly amount?: number | undefined
    readonly note?: string | undefined
  }): Promise<SettlementResult>
  /** The action surely did not happen. */
  reject(reason?: string): Promise<SettlementResult>
  /** Nobody knows. */
  leave(): Promise<SettlementResult>
  /**
   * By `settleOn` of the options, else by `onError`, else by the default for the outcome. A function is called at once, unless
   * it is settled already; if it throws, or returns a promise or an invalid outcome, the decision is left open, and `onEvent` is told
   * `settlement_failed`.
   */
  by(outcome: ActionOutcome | (() => ActionOutcome)): Promise<SettlementResult>
  /** True once any of them was called, and once the admission was paused: then none of them does anything. */
  readonly isCalled: boolean
}
