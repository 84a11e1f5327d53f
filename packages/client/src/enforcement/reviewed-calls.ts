import { DeniedError } from '../errors/denied-error.js'
import type { CallSignal } from '../options.js'
import type { Decision } from '../wire.js'
import { Aborted, unlessAborted } from './abort.js'
import type { AskedCall, AskingCalls } from './asking.js'
import { denialBy } from './denial.js'
import type { EnforcementSettings } from './enforcement-options.js'
import { type PendingReview, pendingReview } from './pending-reviews.js'
import { RepeatableCall } from './repeatable-call.js'
import { isEnded, isGone, staysOpen } from './review-end.js'
import { isForReview, type Progress } from './settlement/settler.js'

/** What an admission takes on its way, with a review or without. */
export interface AdmissionSteps {
  /** Time limit of a call, in milliseconds. */
  readonly timeoutMs: number
  /** Takes the decision for that of the admission, and reports it. */
  note(decision: Decision, progress: Progress): void
  /** @throws DeniedError (`already_claimed`) when this process runs it, or has run it */
  take(decision: Decision, progress: Progress): void
}

/** Decisions that a person has to approve: found again by a repeat of their call, waited for and claimed. */
export class ReviewedCalls {
  readonly #calls: AskingCalls
  readonly #settings: EnforcementSettings
  readonly #steps: AdmissionSteps

  constructor(calls: AskingCalls, settings: EnforcementSettings, steps: AdmissionSteps) {
    this.#calls = calls
    this.#settings = settings
    this.#steps = steps
  }

  /**
   * The decision of this id, if it is about the same question. Nothing is asked, whatever its status is.
   *
   * @throws DeniedError (`refused`) for the decision of another question
   */
  async goOn(id: string, { asked, options, claimHolder }: AskedCall, progress: Progress): Promise<Decision> {
    const { pendingReviews } = this.#calls
    const { question, request_hash } = new RepeatableCall(asked, options)
    const looking = this.#calls.decision(id, { timeoutMs: this.#steps.timeoutMs })
    const found = await unlessAborted(looking, options.signal)
    if (found.request_hash !== request_hash) throw new DeniedError('refused')
    this.#steps.note(found, progress)
    progress.mayHaveBegun = found.status === 'authorized'
    try {
      // A call with a claimHolder takes up only its own claim: it may claim again what is claimed.
      const isClaimed = found.effect === 'review' && found.status === 'authorized' && options.claimHolder !== undefined
      if (!isForReview(found) && !isClaimed) return found
      const answered = await this.#review(found, claimHolder, options.signal)
      this.#steps.note(answered, progress)
      return answered
    } finally {
      // This call has heard the answer of the reviewers: no repeat should hear it again.
      if (!isForReview(progress.decision)) pendingReviews.forget(question, id)
    }
  }

  /** The decision that an equal call has left behind; undefined when there is none that can still run. */
  async leftBehind(call: AskedCall, progress: Progress): Promise<Decision | undefined> {
    const { pendingReviews } = this.#calls
    if (call.repeatable === undefined || pendingReviews.isEmpty) return undefined
    const review = pendingReviews.of(call.repeatable.question, this.#settings.now())
    return review && this.takeUp(review, call, progress)
  }

  /** The review that an equal call has left behind, here or in another process, and that is to be answered in place of this one. */
  async older(decision: Decision, { repeatable, options }: AskedCall): Promise<PendingReview | undefined> {
    if (repeatable === undefined) return undefined
    const { pendingReviews, olderReviews } = this.#calls
    const limits = { timeoutMs: this.#steps.timeoutMs, signal: options.signal }
    const isFree = (id: string): boolean => !pendingReviews.isWaitedFor(id)
    const found = await olderReviews.before(decision, repeatable, isFree, limits)
    const known = pendingReviews.of(repeatable.question, this.#settings.now())
    if (known !== undefined) return known.id === decision.id ? undefined : known
    // A random claim: a process that has claimed it by the same name runs it.
    return found && pendingReview(found, crypto.randomUUID())
  }

  /** Undefined, with nothing noted, if it cannot run any more: the repeated call has to ask again. */
  async takeUp(
    { id, holder: claimHolder }: PendingReview,
    call: AskedCall,
    progress: Progress,
  ): Promise<Decision | undefined> {
    const { repeatable, options } = call
    if (repeatable === undefined) return undefined
    try {
      const looking = this.#calls.decision(id, { timeoutMs: this.#steps.timeoutMs })
      const found = await unlessAborted(looking, options.signal)
      if (found.request_hash === repeatable.request_hash && !isEnded(found)) {
        this.#steps.note(found, progress)
        return await this.reviewed(found, { ...call, claimHolder }, progress)
      }
    } catch (error) {
      if (error instanceof Aborted || !isGone(error)) throw error
    }
    this.#calls.pendingReviews.forget(repeatable.question, id)
    progress.decision = null
    progress.turn = null
    return undefined
  }

  /** The decision once this holder has taken it; what stays open is left behind for a repeat of the call. */
  async reviewed(decision: Decision, call: AskedCall, progress: Progress): Promise<Decision> {
    const { repeatable, claimHolder, options } = call
    const review = async (): Promise<Decision> => {
      const answered = await this.#review(decision, claimHolder, options.signal)
      this.#steps.note(answered, progress)
      this.#steps.take(answered, progress)
      return answered
    }
    if (repeatable === undefined) return review()
    const { pendingReviews } = this.#calls
    const { question } = repeatable
    const leave = (last: Decision): void => pendingReviews.leave(question, pendingReview(last, claimHolder))
    const isWaiting = this.#settings.review === 'wait'
    try {
      const answered = await (isWaiting ? pendingReviews.whileWaitingFor(question, decision.id, review) : review())
      pendingReviews.forget(question, decision.id)
      progress.leaveBehind = () => leave(answered)
      return answered
    } catch (error) {
      const isOpen = error instanceof Aborted ? !progress.isOnlyOurs : staysOpen(error, decision)
      if (isOpen) leave(decision)
      else pendingReviews.forget(question, decision.id)
      throw error
    }
  }

  /** The decision after a person has approved it and this holder has claimed it. */
  async #review(decision: Decision, holder: string, signal: CallSignal | undefined): Promise<Decision> {
    const { mode, review, reviewTimeoutMs } = this.#settings
    const isWaiting = decision.status === 'awaiting_review'
    if (isWaiting && (review !== 'wait' || mode === 'observe')) throw denialBy(decision, this.#settings.now())
    const limitMs = isWaiting ? reviewTimeoutMs : this.#steps.timeoutMs
    try {
      return await this.#calls.waitForReview(decision, { holder, signal, timeoutMs: limitMs })
    } catch (error) {
      throw signal?.aborted ? new Aborted(signal) : error
    }
  }
}
