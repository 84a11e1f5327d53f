import type { CallSignal } from '../options.js'
import type { Admission } from './admission.js'
import type { ShownDecision } from './enforcement-event.js'

/** What an action gets in addition to the question. */
export interface GuardRun<Signal extends CallSignal = CallSignal> {
  /** Frozen at every depth. Null only in the mode `observe`, when there was no answer. */
  readonly decision: ShownDecision | null
  /** For the service that acts on it; in no picture of this object. Null only in the mode `observe`. */
  readonly permit_token: string | null
  /** The one that the guard was given. */
  readonly signal: Signal | undefined
  /** What the action really cost, in the unit of the budget; the last one said counts. Default: what was reserved. */
  setAmount(amount: number): void
}

/** What an action is given wherever the guard enforces. */
export interface PermittedRun<Signal extends CallSignal = CallSignal> extends GuardRun<Signal> {
  readonly decision: ShownDecision
  readonly permit_token: string
}

export class ActionRun implements GuardRun {
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

  // Can be handed out without the object. An amount that is none is found when it is settled: the action has happened.
  readonly setAmount = (amount: number): void => {
    this.#amount = amount
  }
}
