import type { CallSignal } from '../../options.js'
import type { Decision } from '../../wire.js'
import type { AdmittedDecisions, Turn } from '../admitted-decisions.js'
import type { Asked } from '../arguments/asked.js'
import { type AdmissionEvent, settledEvent } from '../enforcement-event.js'
import type { EnforcementSettings } from '../enforcement-options.js'
import { SettleOnce } from './settle-once.js'
import type { Settle, Settlement, SettlementState } from './settlement.js'
import type { SettlementQueue } from './settlement-queue.js'

/** How far an admission has come. */
export interface Progress {
  /** Names the admission in events. */
  tag: string | null
  asked: Asked | null
  decision: Decision | null
  signal: CallSignal | undefined
  /** The decision is authorized, and this is who was admitted to run it in this process; else null. */
  turn: Turn | null
  /** Nobody can ask for the decision again. */
  isOnlyOurs: boolean
  /** Whoever asks again with the same key and holder is given this very decision, and may run it. */
  isAskedAgain: boolean
  /** Whoever goes on with its id may run it. */
  isPausedById: boolean
  /** Lets a repeat of the call take up what was reviewed for it; null when its key and holder do. */
  leaveBehind: (() => void) | null
  /** An earlier run of this job, with the same key and holder, may have begun the action before it crashed. */
  mayHaveBegun: boolean
}

/** What is shared by every enforcement point of a client. */
export interface Settling {
  readonly settlements: SettlementQueue
  readonly admitted: AdmittedDecisions
}

/** Settles what was asked for, as far as its decision lets it and as far as it is ours to settle. */
export class Settler {
  readonly #settling: Settling
  readonly #settings: EnforcementSettings

  constructor(settling: Settling, settings: EnforcementSettings) {
    this.#settling = settling
    this.#settings = settings
  }

  /** Tells of one admission. */
  report({ tag }: Pick<Progress, 'tag'>, event: AdmissionEvent): void {
    // What is only observed runs all the same.
    const isUnsaid = this.#settings.mode === 'observe' && event.type === 'settled' && event.ran === false
    this.#settings.report({ ...event, ...(isUnsaid && { ran: null }), tag })
  }

  settleOf(progress: Progress): SettleOnce {
    return this.#settleBy(progress, (settlement) => this.#send(settlement, progress))
  }

  /** Of a guard that shares the decision of the one around it, which settles it by the worse of both ends. */
  settleWithin(progress: Progress, outer: SettleOnce): SettleOnce {
    return this.#settleBy(progress, async (settlement) => {
      outer.endWithin(settlement)
      return 'left'
    })
  }

  #settleBy(progress: Progress, send: (settlement: Settlement) => Promise<SettlementState>): SettleOnce {
    const { settleOn, onError } = this.#settings
    const decision_id = progress.decision?.id
    return new SettleOnce({
      settleOn,
      onError,
      send,
      fail: (error) => {
        const settlement = { settle: 'leave' } as const
        const failed = { type: 'settlement_failed', settlement, error, willRetry: false } as const
        if (decision_id) this.report(progress, { ...failed, decision_id })
      },
    })
  }

  /**
   * Rejects what has begun nowhere and can begin nowhere else, so that it holds no budget and no reviewer. What an earlier run
   * may have begun is left, and may be asked for again.
   */
  takeBack(progress: Progress, settle: Settle = this.settleOf(progress), reason = 'it did not begin'): void {
    const { turn, mayHaveBegun } = progress
    if (turn !== null && mayHaveBegun) {
      turn.isTaken = false
      void settle.leave()
    } else if (turn !== null || isReviewToTakeBack(progress)) void settle.reject(reason)
  }

  /**
   * Gives the decision back as it is, so that it can be asked for again. What nobody can ask for again is rejected, unless it
   * has begun.
   */
  pause(progress: Progress, settle: SettleOnce, hasBegun: boolean): void {
    const { turn, isAskedAgain, isPausedById, leaveBehind } = progress
    if (turn === null || isAskedAgain || isPausedById || leaveBehind !== null) {
      if (!settle.pause() || turn === null) return
      turn.hasBegun ||= hasBegun
      turn.isTaken = false
      if (!isPausedById) leaveBehind?.()
    } else if (hasBegun) void settle.leave()
    else this.takeBack(progress, settle)
  }

  async #send(settlement: Settlement, progress: Progress): Promise<SettlementState> {
    const { settleTimeoutMs: timeoutMs } = this.#settings
    const { decision, turn } = progress
    if (decision === null) return 'left'
    const { id: decision_id } = decision
    if (settlement.settle === 'leave') {
      this.report(progress, settledEvent(decision_id, settlement))
      return 'left'
    }
    if (turn === null && !(isReviewToTakeBack(progress) && settlement.settle === 'reject')) return 'left'
    const report = (event: AdmissionEvent): void => this.report(progress, event)
    return this.#settling.settlements.settle({ decision_id, settlement, timeoutMs, report })
  }
}

function isReviewToTakeBack({ decision, isOnlyOurs }: Progress): boolean {
  return isForReview(decision) && isOnlyOurs
}

/** A person has yet to approve it, or a job to claim it. */
export function isForReview(decision: Decision | null): boolean {
  return decision?.status === 'awaiting_review' || decision?.status === 'approved'
}
