import type { DeniedError } from '../../errors/denied-error.js'
import type { CallSignal } from '../../options.js'
import { DecisionSpan } from '../../tracing/decision-span.js'
import type { Decision } from '../../wire.js'
import type { Turn } from '../asking/admitted-decisions.js'
import type { Asked } from '../asking/asked.js'
import { denial } from '../asking/denial.js'
import { atOnce } from '../at-once.js'
import type { EnforcementCalls } from '../enforcement-calls.js'
import type { EnforcementSettings } from '../enforcement-options.js'
import { type AdmissionEvent, settledEvent, shown } from '../reporting/enforcement-event.js'
import {
  type ActionOutcome,
  type Settle,
  type Settlement,
  type SettlementState,
  SettleOnce,
  settlementByDefault,
} from './settlement.js'

/** How far one admission has come. Settles it if its decision allows that and no other caller can still use it. */
export class Progress {
  /** Names the admission in events. */
  tag: string | null = null
  asked: Asked | null = null
  decision: Decision | null = null
  signal: CallSignal | undefined
  /** This process was admitted to run the authorized decision; else null. */
  turn: Turn | null = null
  /** No caller can ask for the decision again. */
  isOnlyOurs = false
  /** A caller that asks again with the same key and holder gets this decision, and may run it. */
  isAskedAgain = false
  /** A caller that continues with the id of the decision may run it. */
  isPausedById = false
  /** Lets a repeat of the call take up the review; null if the key and holder of the call do. */
  leaveBehind: (() => void) | null = null
  /** An earlier run of this job with the same key and holder may have begun the action, and crashed. */
  mayHaveBegun = false
  /** Notes the answers of the decision point, until there is nothing more to ask. */
  span = new DecisionSpan(undefined)
  readonly #calls: EnforcementCalls
  readonly #settings: EnforcementSettings

  constructor(calls: EnforcementCalls, settings: EnforcementSettings) {
    this.#calls = calls
    this.#settings = settings
  }

  /** A copy that later changes of this admission do not reach. */
  copy(changes: Partial<Omit<Progress, 'copy'>> = {}): Progress {
    return Object.assign(new Progress(this.#calls, this.#settings), this, changes)
  }

  report(event: AdmissionEvent): void {
    // An observed action runs in any case.
    const isUnsaid = this.#settings.mode === 'observe' && event.type === 'settled' && event.ran === false
    this.#settings.report({ ...event, ...(isUnsaid && { ran: null }), tag: this.tag })
  }

  reportDenied(error: DeniedError): void {
    const { asked, decision } = this
    this.report({ type: 'denied', asked, reason: error.reason, decision: decision && shown(decision), error })
  }

  /** Makes it the decision of this admission, and reports it. */
  note(decision: Decision): void {
    this.decision = decision
    this.span.decided(decision)
    if (this.asked !== null) this.report({ type: 'decision', asked: this.asked, decision: shown(decision) })
  }

  /** @throws DeniedError (`already_claimed`) if this process runs the decision, or has run it */
  take(decision: Decision): void {
    this.turn ??= this.turnOf(decision)
    if (this.turn === null) throw denial('already_claimed', decision)
    this.mayHaveBegun ||= this.turn.hasBegun
  }

  turnOf({ id, expires_at }: Decision): Turn | null {
    return this.#calls.admitted.take(id, Date.parse(expires_at), this.#settings.now()) ?? null
  }

  settle(): SettleOnce {
    return this.#settleBy((settlement) => this.#send(settlement))
  }

  /** For a guard that shares the decision of the guard around it, which settles it by the worse of both outcomes. */
  settleWithin(outer: SettleOnce): SettleOnce {
    return this.#settleBy(async (settlement) => {
      outer.endWithin(settlement)
      return 'left'
    })
  }

  #settleBy(send: (settlement: Settlement) => Promise<SettlementState>): SettleOnce {
    const { settleOn, onError } = this.#settings
    const decision_id = this.decision?.id
    const fail = (error: unknown): void => {
      const settlement = { settle: 'leave' } as const
      if (decision_id) this.report({ type: 'settlement_failed', settlement, error, willRetry: false, decision_id })
    }
    const after = (outcome: ActionOutcome): Settlement =>
      atOnce('settleOn', settleOn?.(outcome)) ?? settlementByDefault(outcome, onError)
    return new SettleOnce(after, send, fail)
  }

  /**
   * Rejects a decision whose action has not begun and can begin nowhere else, so that it holds no budget and no reviewer. If
   * an earlier run may have begun the action, the decision is left, and may be asked for again.
   */
  takeBack(settle: Settle = this.settle(), reason = 'it did not begin'): void {
    const { turn, mayHaveBegun } = this
    if (turn !== null && mayHaveBegun) {
      turn.isTaken = false
      void settle.leave()
    } else if (turn !== null || this.#isReviewToTakeBack) void settle.reject(reason)
  }

  /**
   * Gives the decision back unchanged, so that it can be asked for again. If that is impossible, it is rejected, unless its
   * action has begun.
   */
  pause(settle: SettleOnce, hasBegun: boolean): void {
    const { turn, isAskedAgain, isPausedById, leaveBehind } = this
    if (turn === null || isAskedAgain || isPausedById || leaveBehind !== null) {
      if (!settle.pause() || turn === null) return
      turn.hasBegun ||= hasBegun
      turn.isTaken = false
      if (!isPausedById) leaveBehind?.()
    } else if (hasBegun) void settle.leave()
    else this.takeBack(settle)
  }

  async #send(settlement: Settlement): Promise<SettlementState> {
    const { settleTimeoutMs: timeoutMs } = this.#settings
    const { decision, turn } = this
    if (decision === null) return 'left'
    const { id: decision_id } = decision
    if (settlement.settle === 'leave') {
      this.report(settledEvent(decision_id, settlement))
      return 'left'
    }
    if (turn === null && !(this.#isReviewToTakeBack && settlement.settle === 'reject')) return 'left'
    const report = (event: AdmissionEvent): void => this.report(event)
    return this.#calls.settlements.settle({ decision_id, settlement, timeoutMs, report })
  }

  get #isReviewToTakeBack(): boolean {
    return isForReview(this.decision) && this.isOnlyOurs
  }
}

/** It waits for the approval of a person, or for a claim. */
export function isForReview(decision: Decision | null): boolean {
  return decision?.status === 'awaiting_review' || decision?.status === 'approved'
}
