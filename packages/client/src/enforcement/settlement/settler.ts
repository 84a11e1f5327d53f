import type { CallSignal } from '../../options.js'
import type { Decision } from '../../wire.js'
import type { AdmittedDecisions } from '../admitted-decisions.js'
import type { Asked } from '../arguments/asked.js'
import type { EnforcementSettings } from '../enforcement-options.js'
import { SettleOnce } from './settle-once.js'
import type { Settle, Settlement, SettlementState } from './settlement.js'
import type { SettlementQueue } from './settlement-queue.js'

/** How far an admission has come. */
export interface Progress {
  asked: Asked | null
  decision: Decision | null
  signal: CallSignal | undefined
  /** The decision is authorized, and nobody else in this process was admitted to run it. */
  isOurs: boolean
  /** Nobody can ask for the decision again. */
  isOnlyOurs: boolean
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

  settleOf(progress: Progress): SettleOnce {
    const { tell, settleOn, onError } = this.#settings
    const decision_id = progress.decision?.id
    return new SettleOnce({
      settleOn,
      onError,
      send: (settlement) => this.#send(settlement, progress),
      fail: (error) => {
        const settlement = { settle: 'leave' } as const
        if (decision_id) tell({ type: 'settlement_failed', decision_id, settlement, error, willRetry: false })
      },
    })
  }

  /**
   * Rejects what has begun nowhere and can begin nowhere else, so that it holds no budget and no reviewer. What an earlier run
   * may have begun is left, and may be asked for again.
   */
  takeBack(progress: Progress, settle: Settle = this.settleOf(progress), reason = 'it did not begin'): void {
    const { decision, isOurs, mayHaveBegun } = progress
    if (isOurs && mayHaveBegun && decision !== null) {
      this.#settling.admitted.delete(decision.id)
      void settle.leave()
    } else if (isOurs || isReviewToTakeBack(progress)) void settle.reject(reason)
  }

  async #send(settlement: Settlement, progress: Progress): Promise<SettlementState> {
    const { tell, settleTimeoutMs: timeoutMs } = this.#settings
    const { decision, isOurs } = progress
    if (decision === null) return 'left'
    const { id: decision_id } = decision
    if (settlement.settle === 'leave') {
      tell({ type: 'settled', decision_id, settlement })
      return 'left'
    }
    if (!isOurs && !(isReviewToTakeBack(progress) && settlement.settle === 'reject')) return 'left'
    return this.#settling.settlements.settle({ decision_id, settlement, timeoutMs, tell })
  }
}

function isReviewToTakeBack({ decision, isOnlyOurs }: Progress): boolean {
  return isForReview(decision) && isOnlyOurs
}

/** A person has yet to approve it, or a job to claim it. */
export function isForReview(decision: Decision | null): boolean {
  return decision?.status === 'awaiting_review' || decision?.status === 'approved'
}
