import type { DeniedError, DeniedReason } from '../errors/denied-error.js'
import type { Decision } from '../wire.js'
import type { Asked } from './arguments/asked.js'
import type { Settlement } from './settlement/settlement.js'

/** A decision without its permit. */
export type ShownDecision = Omit<Decision, 'permit_token'>

/** What would have become of an action in the mode `enforce`; `allow` for the effect `log` too. */
export type Would = 'allow' | 'deny' | 'review' | 'unavailable'

/**
 * What an enforcement point tells its `onEvent`. No event holds a permit. `tag` is the one that the admission was asked
 * with, null without one.
 *
 * - `decision`: the decision point answered;
 * - `denied`: the action does not run;
 * - `observed`: the mode is `observe`: the action runs, and this is what would have been;
 * - `settled`: the decision point knows what became of the action, or it was left to expire on purpose; `ran` says whether the
 *   action ran: true when it was confirmed, false when it was rejected, null when nobody knows, and for what the mode `observe` let run and rejected;
 * - `settlement_failed`: it does not; `willRetry` says whether it is told again;
 * - `settlement_dropped`: given up: the decision expires and counts as spent.
 */
export type EnforcementEvent = AdmissionEvent & { readonly tag: string | null }

/** The same, before it is known which admission it is about. */
export type AdmissionEvent =
  | { readonly type: 'decision'; readonly asked: Asked; readonly decision: ShownDecision }
  | {
      readonly type: 'denied'
      /** Null when there was no question. */
      readonly asked: Asked | null
      readonly reason: DeniedReason
      /** As it was answered, with its policy: for the operator, and not for the caller. */
      readonly decision: ShownDecision | null
      readonly error: DeniedError
    }
  | {
      readonly type: 'observed'
      readonly asked: Asked | null
      readonly would: Would
      /** Null when it would have run. */
      readonly reason: DeniedReason | null
      readonly decision: ShownDecision | null
      /** Null when it would have run. */
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

/** Whether the action ran, by what each settlement says. */
const RAN: Readonly<Record<Settlement['settle'], boolean | null>> = { confirm: true, reject: false, leave: null }

export function settledEvent(decision_id: string, settlement: Settlement): AdmissionEvent {
  return { type: 'settled', decision_id, settlement, ran: RAN[settlement.settle] }
}
