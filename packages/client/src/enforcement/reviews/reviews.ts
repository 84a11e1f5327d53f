import { ApiError } from '../../errors/api-error.js'
import { DeniedError } from '../../errors/denied-error.js'
import type { DeniedReason } from '../../errors/refusal-reason.js'
import type { CallSignal } from '../../options.js'
import type { Decision, DecisionStatus } from '../../wire.js'
import { denialBy, denialFor } from '../asking/denial.js'
import { Aborted, unlessAborted } from '../asking/giving-up.js'
import type { Question } from '../asking/question.js'
import type { EnforcementCalls } from '../enforcement-calls.js'
import type { EnforcementSettings } from '../enforcement-options.js'
import { isForReview, type Progress } from '../settling/progress.js'
import { type LeftReview, leftReview } from './left-reviews.js'
import { RepeatableCall } from './repeatable-call.js'

/** Decisions that a person must approve: found again by a repeat of the call, awaited and claimed. */
export class Reviews {
  readonly #calls: EnforcementCalls
  readonly #settings: EnforcementSettings

  constructor(calls: EnforcementCalls, settings: EnforcementSettings) {
    this.#calls = calls
    this.#settings = settings
  }

  /**
   * The decision with this id, if it is about the same question. Nothing is asked, whatever its status is.
   *
   * @throws DeniedError (`refused`) for the decision of another question
   */
  async goOn(id: string, { asked, options, claimHolder }: Question, progress: Progress): Promise<Decision> {
    const { leftReviews } = this.#calls
    const { question, request_hash } = new RepeatableCall(asked, options)
    const looking = this.#calls.decisions.get(id, { timeoutMs: this.#settings.timeoutMs })
    const found = await unlessAborted(looking, options.signal)
    if (found.request_hash !== request_hash) throw new DeniedError('refused')
    progress.note(found)
    progress.mayHaveBegun = found.status === 'authorized'
    try {
      // A call with a claimHolder takes up only its own claim, so it may claim again.
      const isClaimed = found.effect === 'review' && found.status === 'authorized' && options.claimHolder !== undefined
      if (!isForReview(found) && !isClaimed) return found
      const answered = await this.#review(found, claimHolder, options.signal)
      progress.note(answered)
      return answered
    } finally {
      // This call got the answer of the reviewers, and no repeat should get it again.
      if (!isForReview(progress.decision)) leftReviews.forget(question, id)
    }
  }

  /** The decision that an equal call left behind; undefined if there is none that can still run. */
  async leftBehind(call: Question, progress: Progress): Promise<Decision | undefined> {
    const { leftReviews } = this.#calls
    if (call.repeatable === undefined || leftReviews.isEmpty) return undefined
    const review = leftReviews.of(call.repeatable.question, this.#settings.now())
    return review && this.takeUp(review, call, progress)
  }

  /** The review that an equal call left behind, here or in another process, and that replaces this one. */
  async older(decision: Decision, { repeatable, options }: Question): Promise<LeftReview | undefined> {
    if (repeatable === undefined) return undefined
    const { leftReviews } = this.#calls
    const limits = { timeoutMs: this.#settings.timeoutMs, signal: options.signal }
    const found = await leftReviews.before(decision, repeatable, limits)
    const known = leftReviews.of(repeatable.question, this.#settings.now())
    if (known !== undefined) return known.id === decision.id ? undefined : known
    // A random holder: a process that has claimed it with the same holder runs it.
    return found && leftReview(found, crypto.randomUUID())
  }

  /** Undefined, with nothing noted, if it can no longer run: the repeated call must ask again. */
  async takeUp(
    { id, holder: claimHolder }: LeftReview,
    call: Question,
    progress: Progress,
  ): Promise<Decision | undefined> {
    const { repeatable, options } = call
    if (repeatable === undefined) return undefined
    try {
      const looking = this.#calls.decisions.get(id, { timeoutMs: this.#settings.timeoutMs })
      const found = await unlessAborted(looking, options.signal)
      if (found.request_hash === repeatable.request_hash && !isEnded(found)) {
        progress.note(found)
        return await this.reviewed(found, { ...call, claimHolder }, progress)
      }
    } catch (error) {
      if (error instanceof Aborted || !isGone(error)) throw error
    }
    this.#calls.leftReviews.forget(repeatable.question, id)
    progress.decision = null
    progress.turn = null
    return undefined
  }

  /** The decision after this holder has claimed it. A review that stays open is left behind for a repeat of the call. */
  async reviewed(decision: Decision, call: Question, progress: Progress): Promise<Decision> {
    const { repeatable, claimHolder, options } = call
    const review = async (): Promise<Decision> => {
      const answered = await this.#review(decision, claimHolder, options.signal)
      progress.note(answered)
      progress.take(answered)
      return answered
    }
    if (repeatable === undefined) return review()
    const { leftReviews } = this.#calls
    const { question } = repeatable
    const leave = (last: Decision): void => leftReviews.leave(question, leftReview(last, claimHolder))
    const isWaiting = this.#settings.review === 'wait'
    try {
      const answered = await (isWaiting ? leftReviews.whileWaitingFor(question, decision.id, review) : review())
      leftReviews.forget(question, decision.id)
      progress.leaveBehind = () => leave(answered)
      return answered
    } catch (error) {
      const isOpen = error instanceof Aborted ? !progress.isOnlyOurs : staysOpen(error, decision)
      if (isOpen) leave(decision)
      else leftReviews.forget(question, decision.id)
      throw error
    }
  }

  /** The decision after a person has approved it and this holder has claimed it. */
  async #review(decision: Decision, holder: string, signal: CallSignal | undefined): Promise<Decision> {
    const { mode, review, reviewTimeoutMs } = this.#settings
    const isWaiting = decision.status === 'awaiting_review'
    if (isWaiting && (review !== 'wait' || mode === 'observe')) throw denialBy(decision, this.#settings.now())
    const limitMs = isWaiting ? reviewTimeoutMs : this.#settings.timeoutMs
    try {
      return await this.#calls.decisions.waitForReview(decision, { holder, signal, timeoutMs: limitMs })
    } catch (error) {
      throw signal?.aborted ? new Aborted(signal) : error
    }
  }
}

/** With these statuses no repeat of a call can run, so it asks again. One repeat gets the refusal of a declined review. */
const SETTLED = new Set<DecisionStatus>(['confirmed', 'rejected', 'expired'])
/** Reasons with which a claim fails if another caller was first. */
const TAKEN = new Set<DeniedReason>(['already_claimed', 'permit_already_used', 'settled'])
/** Reasons after which the action of a review may still run. */
const STAYS_OPEN = new Set<DeniedReason>(['review_required', 'unavailable', 'policy_denies', 'agent_suspended'])

function isEnded({ status }: Decision): boolean {
  return SETTLED.has(status)
}

/** Another caller was first. */
export function isTaken(error: unknown): boolean {
  return TAKEN.has(denialFor(error, null).reason)
}

/** It can no longer run, or this API key may not run it. */
function isGone(error: unknown): boolean {
  if (ApiError.isInstance(error) && (error.status === 403 || error.status === 404)) return true
  return isTaken(error) || denialFor(error, null).reason === 'withdrawn'
}

/** Whether it may still run after this refusal. */
function staysOpen(error: unknown, decision: Decision): boolean {
  return STAYS_OPEN.has(denialFor(error, decision).reason)
}
