/** One run of an action: what the action gets, and how its end is read. */
import type { CallSignal } from '../../options.js'
import { atOnce } from '../at-once.js'
import type { ShownDecision } from '../reporting/enforcement-event.js'
import type { ActionOutcome } from '../settling/settlement.js'
import { isOutcomeUnknown } from '../settling/unknown-outcome.js'
import type { Admission } from './admission.js'

/** What an action gets in addition to the question. */
export interface GuardRun<Signal extends CallSignal = CallSignal> {
  /** Frozen at every depth. Null only in the mode `observe`, when there was no answer. */
  readonly decision: ShownDecision | null
  /** For the service that acts on it; not enumerable, never logged. Null only in the mode `observe`. */
  readonly permit_token: string | null
  /** The signal of the guard's options. */
  readonly signal: Signal | undefined
  /** Says what the action really cost, in the unit of the budget. The last amount counts. Default: what was reserved. */
  setAmount(amount: number): void
}

/** What an action gets if the guard enforces. */
export interface PermittedRun<Signal extends CallSignal = CallSignal> extends GuardRun<Signal> {
  readonly decision: ShownDecision
  readonly permit_token: string
}

export class Run implements GuardRun {
  readonly decision: ShownDecision | null
  readonly signal: CallSignal | undefined
  readonly #admission: Admission
  #amount: number | undefined

  constructor(admission: Admission) {
    this.decision = admission.decision
    this.signal = admission.signal
    this.#admission = admission
  }

  get permit_token(): string | null {
    return this.#admission.permit_token
  }

  get amount(): number | undefined {
    return this.#amount
  }

  // Can be handed out without the object. The settlement checks the amount, because the action has happened already.
  readonly setAmount = (amount: number): void => {
    this.#amount = amount
  }
}

/**
 * How `run` reads the end of an action. If one of these functions throws, or returns a promise or something invalid, the
 * decision is left open, and `onEvent` gets `settlement_failed`. The caller still gets what the action returned or threw.
 */
export interface RunOptions<Value> {
  /**
   * What a returned value says about its action; undefined if it succeeded. An action that `failed` is settled as if it had
   * thrown the `error`.
   */
  readonly outcome?: ((value: Value) => ActionOutcome | undefined) | undefined
  /** Whether the action threw this to interrupt itself and to be called again. The admission is then paused. */
  readonly isPause?: ((error: unknown) => boolean) | undefined
  /** Whether the action threw this before it did anything. It has then surely failed. */
  readonly hasNotRun?: ((error: unknown) => boolean) | undefined
}

export function outcomeOfError(
  error: unknown,
  signal: CallSignal | undefined,
  hasNotRun: RunOptions<never>['hasNotRun'],
): ActionOutcome {
  if (atOnce('hasNotRun', hasNotRun?.(error))) return { kind: 'failed' }
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
