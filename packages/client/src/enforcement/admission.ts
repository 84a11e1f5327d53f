import type { CallSignal } from '../options.js'
import type { Asked } from './asked.js'
import type { ShownDecision, Would } from './enforcement-event.js'
import type { Settle } from './settlement.js'

/** What steers one admission. */
export interface AdmitOptions<Signal extends CallSignal = CallSignal> {
  /** Aborted before the action begins: it does not run, and the promise rejects with the signal's reason. */
  readonly signal?: Signal | undefined
  /** The same key with the same question gives the same decision. Default: random. */
  readonly idempotencyKey?: string | undefined
  /** Names the job that runs the action: stable over its restart, different for another. Default: random. */
  readonly holder?: string | undefined
}

/** The action may run: once, now, as it was asked. */
export interface PermittedAdmission {
  readonly kind: 'permitted'
  readonly asked: Asked
  /** Frozen at every depth. */
  readonly decision: ShownDecision
  /** For the service that acts on it; in no picture of this object. */
  readonly permit_token: string
  readonly settle: Settle
  /**
   * To be called once, right before the action: nothing may happen in between.
   *
   * @throws DeniedError `expired` when the decision is over by now, `already_claimed` when it was begun before; and the
   * signal's reason when it was aborted meanwhile. The decision is rejected then, unless it was begun before.
   */
  begin(): void
}

/** The mode is `observe`: the action runs, whatever would have been. */
export interface ObservedAdmission {
  readonly kind: 'observed'
  readonly would: Would
  /** Null when there was no question. */
  readonly asked: Asked | null
  /** Null when there was no answer. */
  readonly decision: ShownDecision | null
  /** Null unless the decision is authorized. */
  readonly permit_token: string | null
  /** Settles as far as the decision lets it: nothing is confirmed that was not authorized. */
  readonly settle: Settle
  /** @throws the signal's reason when it was aborted meanwhile */
  begin(): void
}

/** An action may run. Everything else is a DeniedError. */
export type Admission = PermittedAdmission | ObservedAdmission
