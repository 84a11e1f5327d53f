import { knownOptions } from '../known-options.js'
import { checkTimeout } from '../options.js'
import { type EnforcementEvent, eventReporter } from './reporting/enforcement-event.js'
import { warnOfFaults } from './reporting/operator-faults.js'
import type { SettleOn } from './settling/settlement.js'

/** How an enforcement point behaves: the same options in every integration. */
export interface EnforcementOptions {
  /**
   * `enforce` (default): nothing runs without a decision that permits it. `observe`: everything runs, whatever the answer is
   * and even without one, and `onEvent` learns what would have happened.
   */
  readonly mode?: 'enforce' | 'observe' | undefined
  /**
   * For an action that needs a review: `throw` (default) a DeniedError `review_required`, `wait` until a person has answered,
   * or `pause`: `admit` resolves with a paused admission, for frameworks that can interrupt a call and ask again. `guard`
   * cannot pause, and throws.
   */
  readonly review?: 'throw' | 'wait' | 'pause' | undefined
  /** For a tool or function that is not mapped to an action: `deny` (default), or `map` it to an action made of its name, such as `tool.<name>`. */
  readonly unmapped?: 'deny' | 'map' | undefined
  /**
   * How often one decision may run its action if the job crashes and starts again with the same `idempotencyKey` and
   * `holder`. `at-least-once` (default): it runs again. `at-most-once`: the guard redeems the permit before the action
   * begins, and does not run the action if it cannot. The API key needs the scope `permits:redeem`.
   */
  readonly runs?: 'at-least-once' | 'at-most-once' | undefined
  /** Says how an outcome is settled; undefined for the default. See ActionOutcome. */
  readonly settleOn?: SettleOn | undefined
  /**
   * How every error of an action is settled, unless `settleOn` decides: `reject`, even if the answer was lost, or `leave` the
   * decision open, even if the action was refused. Default: by the error, see `isOutcomeUnknown`.
   */
  readonly onError?: 'reject' | 'leave' | undefined
  /** Time limit of asking, in milliseconds, without the wait for a review. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Time limit of the wait for a review, in milliseconds. Default 86,400,000, a day. */
  readonly reviewTimeoutMs?: number | undefined
  /** How long a caller waits for its settlement, in milliseconds. After that it continues in the background. Default 1,000. */
  readonly settleTimeoutMs?: number | undefined
  /**
   * Is called for each event; what it throws is ignored. Without it, faults that only the operator can fix are process
   * warnings, once per process and kind.
   */
  readonly onEvent?: ((event: EnforcementEvent) => unknown) | undefined
  /** The clock for `expires_at`, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined
}

/** The options with all defaults. The default of `timeoutMs` is that of the client. */
export type EnforcementSettings = {
  readonly [Name in Exclude<keyof EnforcementOptions, keyof Unset | 'onEvent'>]: NonNullable<EnforcementOptions[Name]>
} & Unset & {
    /** Never throws. */
    readonly report: (event: EnforcementEvent) => void
  }

/** Options without a default. */
type Unset = Pick<EnforcementOptions, 'settleOn' | 'onError' | 'reviewTimeoutMs'>

/** The names of these options, for integrations with further options. */
export const ENFORCEMENT_OPTIONS = [
  'mode',
  'review',
  'unmapped',
  'runs',
  'settleOn',
  'onError',
  'timeoutMs',
  'reviewTimeoutMs',
  'settleTimeoutMs',
  'onEvent',
  'now',
] as const satisfies readonly (keyof EnforcementOptions)[]

/**
 * @param unheard hears the events if there is no `onEvent`
 * @throws TypeError naming the faulty option
 */
export function resolveEnforcement(
  given: EnforcementOptions,
  unheard: (event: EnforcementEvent, now: () => number) => void = warnOfFaults,
): Omit<EnforcementSettings, 'timeoutMs'> & Pick<EnforcementOptions, 'timeoutMs'> {
  const options = knownOptions('enforcement', given, ENFORCEMENT_OPTIONS)
  const { settleOn, onError, onEvent, now, timeoutMs, reviewTimeoutMs } = options
  const clock = clockOf(functionOrNone('now', now) ?? Date.now)
  return {
    mode: oneOf('mode', options.mode, ['enforce', 'observe']),
    review: oneOf('review', options.review, ['throw', 'wait', 'pause']),
    unmapped: oneOf('unmapped', options.unmapped, ['deny', 'map']),
    runs: oneOf('runs', options.runs, ['at-least-once', 'at-most-once']),
    settleOn: functionOrNone('settleOn', settleOn),
    onError: onError === undefined ? undefined : oneOf<'reject' | 'leave'>('onError', onError, ['reject', 'leave']),
    timeoutMs: timeoutMs === undefined ? undefined : checkTimeout('timeoutMs', timeoutMs),
    reviewTimeoutMs: reviewTimeoutMs === undefined ? undefined : checkTimeout('reviewTimeoutMs', reviewTimeoutMs),
    settleTimeoutMs: checkTimeout('settleTimeoutMs', options.settleTimeoutMs ?? 1_000),
    report: eventReporter(functionOrNone('onEvent', onEvent) ?? ((event) => unheard(event, clock))),
    now: clock,
  }
}

/** The first of `values` is the default. */
function oneOf<Value extends string>(name: string, given: unknown, values: readonly [Value, ...Value[]]): Value {
  if (given === undefined) return values[0]
  const value = values.find((one) => one === given)
  if (value !== undefined) return value
  throw new TypeError(`${name} must be ${values.map((one) => `'${one}'`).join(' or ')}`)
}

function functionOrNone<Wanted>(name: string, given: Wanted): Wanted {
  if (given === undefined || typeof given === 'function') return given
  throw new TypeError(`${name} must be a function`)
}

/** If the clock returns no number, every decision has expired: as a Date, null would be 1970. */
function clockOf(now: () => unknown): () => number {
  return () => {
    const at = now()
    return typeof at === 'number' ? at : Number.NaN
  }
}
