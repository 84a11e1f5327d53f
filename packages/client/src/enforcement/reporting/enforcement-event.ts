import type { DeniedError } from '../../errors/denied-error.js'
import type { DeniedReason } from '../../errors/refusal-reason.js'
import type { Decision } from '../../wire.js'
import { deepFreeze } from '../arguments/frozen-copy.js'
import type { Asked } from '../asking/asked.js'
import type { Settlement } from '../settling/settlement.js'

/** A decision without its permit, frozen at every depth. */
export type ShownDecision = Omit<Decision, 'permit_token'>

/** What would have happened to an action in the mode `enforce`; `allow` also for the effect `log`. */
export type Would = 'allow' | 'deny' | 'review' | 'unavailable'

/**
 * An event of an enforcement point, for `onEvent`. No event contains a permit. `tag` is the tag of the admission, null without
 * one.
 *
 * - `decision`: the decision point answered;
 * - `denied`: the action does not run;
 * - `observed`: the mode is `observe`: the action runs, and this is what would have happened;
 * - `settled`: the decision point has the outcome, or the decision was left to expire on purpose. `ran` says whether the action
 *   ran: true if it was confirmed, false if it was rejected, null if that is unknown, and for a rejection in the mode `observe`;
 * - `settlement_failed`: the decision point does not have the outcome; `willRetry` says whether it is sent again;
 * - `settlement_dropped`: given up: the decision expires and counts as spent.
 */
export type EnforcementEvent = AdmissionEvent & { readonly tag: string | null }

/** An event without the tag of its admission. */
export type AdmissionEvent =
  | { readonly type: 'decision'; readonly asked: Asked; readonly decision: ShownDecision }
  | {
      readonly type: 'denied'
      /** Null if there was no question. */
      readonly asked: Asked | null
      readonly reason: DeniedReason
      /** The whole answer, with its policy: for the operator, and not for the caller. */
      readonly decision: ShownDecision | null
      readonly error: DeniedError
    }
  | {
      readonly type: 'observed'
      readonly asked: Asked | null
      readonly would: Would
      /** Null if it would have run. */
      readonly reason: DeniedReason | null
      readonly decision: ShownDecision | null
      /** Null if it would have run. */
      readonly error: DeniedError | null
    }
  | {
      readonly type: 'settled'
      readonly decision_id: string
      readonly settlement: Settlement
      readonly ran: boolean | null
    }
  | {
      readonly type: 'settlement_failed'
      readonly decision_id: string
      readonly settlement: Settlement
      readonly error: unknown
      readonly willRetry: boolean
    }
  | {
      readonly type: 'settlement_dropped'
      readonly decision_id: string
      readonly settlement: Settlement
      readonly why: 'queue_full' | 'gave_up' | 'exit' | 'closed'
    }

export function shown({ permit_token: _permit, ...decision }: Decision): ShownDecision {
  deepFreeze(decision)
  return decision
}

/** Whether the action ran, by its settlement. */
const RAN: Readonly<Record<Settlement['settle'], boolean | null>> = { confirm: true, reject: false, leave: null }

export function settledEvent(decision_id: string, settlement: Settlement): AdmissionEvent {
  return { type: 'settled', decision_id, settlement, ran: RAN[settlement.settle] }
}

/**
 * Reports frozen events to a listener that cannot stop anything, neither by throwing nor by a rejected promise. For events of
 * an integration.
 */
export function eventReporter<Event extends object>(onEvent: (event: Event) => unknown): (event: Event) => void {
  return (event) => {
    try {
      void Promise.resolve(onEvent(Object.freeze(event))).catch(() => undefined)
    } catch {
      // Faults of the listener do not matter here.
    }
  }
}
