import type { CallSignal } from '../options.js'
import { atOnce } from './at-once.js'
import type { ActionOutcome } from './settlement/settlement.js'
import { isOutcomeUnknown } from './settlement/unknown-outcome.js'

/**
 * How `run` reads the end of an action. A function here that throws, gives a promise or gives something else leaves the
 * decision, and `onEvent` is told `settlement_failed`; what the action gave back or threw reaches the caller all the same.
 */
export interface RunOptions<Value> {
  /**
   * What a value says about the action that gave it back; undefined when it succeeded. What `failed` is settled as if the
   * action had thrown its `error`.
   */
  readonly outcome?: ((value: Value) => ActionOutcome | undefined) | undefined
  /** Whether the action threw this to interrupt itself and be called again: then the admission is paused. */
  readonly isPause?: ((error: unknown) => boolean) | undefined
}

export function outcomeOfError(error: unknown, signal: CallSignal | undefined): ActionOutcome {
  return { kind: signal?.aborted || isOutcomeUnknown(error) ? 'unknown' : 'failed', error }
}

/** @throws what `outcome` throws, and TypeError for a promise */
export function outcomeOfValue<Value>(
  value: Value,
  amount: number | undefined,
  signal: CallSignal | undefined,
  outcome: RunOptions<Value>['outcome'],
): ActionOutcome {
  const said = atOnce('outcome', outcome?.(value))
  if (said === undefined) return { kind: 'succeeded', value, amount }
  if (said?.kind === 'succeeded') return { value, ...said, amount: said.amount ?? amount }
  if (said?.kind !== 'failed') return said
  const isUnknown = signal?.aborted || (said.error !== undefined && isOutcomeUnknown(said.error))
  return isUnknown ? { ...said, kind: 'unknown' } : said
}
