import { nameOf } from '../../call.js'
import { PERMIT_ENDPOINTS } from '../../endpoints.js'
import { ApiError } from '../../errors/api-error.js'
import { DeniedError } from '../../errors/denied-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import { HASHED_NAMES } from '../../hashed-names.js'
import { isPermitted } from '../../is-permitted.js'
import type { Decision } from '../../wire.js'
import type { EnforcementCalls } from '../enforcement-calls.js'
import type { EnforcementSettings } from '../enforcement-options.js'
import { faultPlaceOf, noteFaultPlace } from '../reporting/operator-faults.js'
import { RepeatableCall } from '../reviews/repeatable-call.js'
import { isTaken, Reviews } from '../reviews/reviews.js'
import type { AdmitOptions } from '../running/admission.js'
import { isForReview, type Progress } from '../settling/progress.js'
import type { Asked } from './asked.js'
import { denial, denialBy, denialFor } from './denial.js'
import { Aborted, Late, unlessAborted, unlessLate } from './giving-up.js'
import { type Asking, type Question, readQuestion } from './question.js'

/** How long a late answer is still accepted after its caller has stopped waiting, in milliseconds. */
const LATE_ANSWER_MS = 5_000

/** The place where everything but a clear permission, even an unknown answer, becomes an error. */
export class Authorizer {
  readonly #calls: EnforcementCalls
  readonly #settings: EnforcementSettings
  readonly #reviews: Reviews

  constructor(calls: EnforcementCalls, settings: EnforcementSettings) {
    this.#calls = calls
    this.#settings = settings
    this.#reviews = new Reviews(calls, settings)
  }

  /**
   * The permit of an action that may run now, only by this holder, and was not admitted before. `progress` records how far
   * the admission came.
   *
   * @throws Aborted as soon as the signal is aborted, and any other error if the action may not run
   */
  async permitFor(question: Question, progress: Progress): Promise<string> {
    const { asked, options } = question
    const { signal, goOnWith } = options
    const decision =
      goOnWith === undefined
        ? ((await this.#reviews.leftBehind(question, progress)) ?? (await this.#ask(question, progress)))
        : await this.#reviews.goOn(goOnWith, question, progress)
    if (decision.status === 'authorized') progress.take(decision)
    if (signal?.aborted) throw new Aborted(signal)
    const now = this.#settings.now()
    if (!isPermitted(decision, asked, new Date(now))) throw denialBy(decision, now)
    const { permit_token } = decision
    if (permit_token === undefined) throw denial('agent_suspended', decision)
    if (this.#settings.runs === 'at-most-once' && this.#settings.mode === 'enforce')
      await this.#redeem(permit_token, decision, asked, progress)
    return permit_token
  }

  /**
   * Uses the permit up, with a new idempotency key each time: of all runs of a job, including crashed ones, the action begins
   * only in the one that gets the answer.
   *
   * If the answer was lost, the permit may be used up although the action has not begun here. The decision is then rejected,
   * unless an earlier run of the job can have redeemed the permit, and begun.
   */
  async #redeem(permit_token: string, decision: Decision, asked: Asked, progress: Progress): Promise<void> {
    const { signal, turn } = progress
    // This process paused the action, and only it can continue.
    if (turn === null || turn.isRedeemed) return
    try {
      const { timeoutMs } = this.#settings
      const redeemed = await unlessAborted(this.#calls.permits.redeem(permit_token, { timeoutMs }), signal)
      if (redeemed.id !== decision.id || !isPermitted(redeemed, asked, new Date(this.#settings.now())))
        throw new UnavailableError(
          'bad_answer',
          `${nameOf(PERMIT_ENDPOINTS['permits.redeem'])}: the answer permits something else`,
        )
    } catch (error) {
      const denied = error instanceof Aborted ? error : unredeemed(error, decision)
      if (DeniedError.isInstance(denied) && denied.reason === 'permit_already_used') progress.turn = null
      throw denied
    }
    turn.isRedeemed = true
    progress.mayHaveBegun = turn.hasBegun
    if (signal?.aborted) throw new Aborted(signal)
  }

  /** @throws Aborted, and DeniedError for what cannot be asked */
  question(ask: () => Asking, progress: Progress): Question {
    const question = this.#read(ask, progress)
    const { signal } = question.options
    if (signal?.aborted) throw new Aborted(signal)
    return question
  }

  #read(ask: () => Asking, progress: Progress): Question {
    let place: string | undefined
    try {
      const asking = ask()
      const { options } = asking
      assertAdmitOptions(options)
      progress.tag = options.tag ?? null
      progress.signal = options.signal
      progress.isAskedAgain = options.idempotencyKey !== undefined && options.holder !== undefined
      progress.isPausedById = options.pauseBy === 'id'
      progress.mayHaveBegun = progress.isAskedAgain
      const request = asking.request()
      place = faultPlaceOf(request)
      const asked = readQuestion(request, (agent_id) => this.#calls.agentOf(agent_id))
      progress.asked = asked
      const { holder = crypto.randomUUID(), claimHolder = holder, idempotencyKey } = options
      const isRepeatable = idempotencyKey === undefined && this.#settings.mode === 'enforce'
      const repeatable = isRepeatable ? new RepeatableCall(asked, options) : undefined
      return { asked, options, holder, claimHolder, repeatable }
    } catch (error) {
      const denied = DeniedError.isInstance(error) ? error : new DeniedError('mapping_failed', { cause: error })
      if (place !== undefined) noteFaultPlace(denied, place)
      throw denied
    }
  }

  /** @param isLast another call has run the older review, so this call asks for a new one */
  async #ask(call: Question, progress: Progress, isLast = false): Promise<Decision> {
    const { signal, idempotencyKey } = call.options
    const decision = await this.#authorizeOrGoOn(call, progress)
    progress.note(decision)
    if (!isForReview(decision)) return decision
    progress.isOnlyOurs = idempotencyKey === undefined
    const older = isLast ? undefined : await this.#reviews.older(decision, call)
    if (signal?.aborted) throw new Aborted(signal)
    if (older === undefined) return this.#reviewedOrTaken(decision, call, progress)
    progress.copy().takeBack(undefined, `it repeats ${older.id}`)
    progress.isOnlyOurs = false
    return (await this.#reviews.takeUp(older, call, progress)) ?? (await this.#ask(call, progress, true))
  }

  /** If an equal call of another process took up the review that this call waits for, and ran, this call asks again. */
  async #reviewedOrTaken(decision: Decision, call: Question, progress: Progress): Promise<Decision> {
    try {
      return await this.#reviews.reviewed(decision, call, progress)
    } catch (error) {
      if (call.repeatable === undefined || error instanceof Aborted || !isTaken(error)) throw error
    }
    progress.decision = null
    return this.#ask(call, progress, true)
  }

  /** If this process has claimed the decision already, it asks with its claim. */
  async #authorizeOrGoOn(call: Question, progress: Progress): Promise<Decision> {
    const { holder, claimHolder } = call
    try {
      return await this.#authorize(call, progress)
    } catch (error) {
      const isClaimed = ApiError.isInstance(error) && error.code === 'already_claimed'
      if (!isClaimed || claimHolder === holder) throw error
      return this.#authorize({ ...call, holder: claimHolder }, progress)
    }
  }

  /**
   * The request does not get the signal, and gets more time than the caller waits: an answer that comes too late is taken
   * back, or it would hold its budget until it expires. Not if a caller knows its key and holder, and so gets the same permit
   * by asking again.
   */
  async #authorize({ asked, options, holder, repeatable }: Question, progress: Progress): Promise<Decision> {
    const { signal, idempotencyKey } = options
    const given = idempotencyKey === undefined ? {} : { idempotencyKey }
    const { resource, context, ...names } = asked
    const question = { ...names, ...(resource === null ? {} : { resource }), ...(context === null ? {} : { context }) }
    const isOnlyOurs = idempotencyKey === undefined
    const { isAskedAgain } = progress
    const { timeoutMs } = this.#settings
    const asking = this.#calls.authorize(
      { ...question, ...given, holder, timeoutMs },
      isAskedAgain ? 0 : LATE_ANSWER_MS,
      repeatable?.newRequestId(),
    )
    try {
      return await unlessAborted(isAskedAgain ? asking : unlessLate(asking, timeoutMs), signal)
    } catch (error) {
      const isGivenUp = error instanceof Aborted || error instanceof Late
      if (isGivenUp && !isAskedAgain) this.#takeBackLater(asking, progress.copy({ isOnlyOurs }))
      throw error instanceof Late ? error.unavailable : error
    }
  }

  #takeBackLater(asking: Promise<Decision>, progress: Progress): void {
    const takeBack = (decision: Decision): void => {
      const turn = decision.status === 'authorized' ? progress.turnOf(decision) : null
      progress.copy({ decision, turn, mayHaveBegun: false }).takeBack()
    }
    void this.#calls.settlements.track(asking.then(takeBack, () => undefined))
  }
}

/** @throws TypeError */
function assertAdmitOptions(options: AdmitOptions): void {
  const { signal, idempotencyKey, holder, claimHolder, variant, pauseBy, goOnWith, tag, nested } = options
  if (idempotencyKey !== undefined) HASHED_NAMES.idempotencyKeyOf(idempotencyKey)
  if (holder !== undefined) HASHED_NAMES.holderOf(holder)
  if (claimHolder !== undefined) HASHED_NAMES.holderOf(claimHolder, 'claimHolder')
  if (nested !== undefined && nested !== 'share' && nested !== 'ask') {
    throw new TypeError("nested must be 'share' or 'ask'")
  }
  if (pauseBy !== undefined && pauseBy !== 'key' && pauseBy !== 'id')
    throw new TypeError("pauseBy must be 'key' or 'id'")
  if (goOnWith !== undefined && (typeof goOnWith !== 'string' || idempotencyKey !== undefined)) {
    throw new TypeError('goOnWith must be the id of a decision, and cannot be combined with an idempotencyKey')
  }
  if (variant !== undefined && typeof variant !== 'string') throw new TypeError('variant must be a string')
  if (tag !== undefined && typeof tag !== 'string') throw new TypeError('tag must be a string')
  if (signal !== undefined && !(typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function')) {
    throw new TypeError('signal must be an AbortSignal')
  }
}

/** Why the action does not run: its permit could not be redeemed. */
function unredeemed(error: unknown, decision: Decision): DeniedError {
  if (!ApiError.isInstance(error) || error.code !== 'insufficient_scope') return denialFor(error, decision)
  const message =
    "runs: 'at-most-once' needs an API key with the scope permits:redeem. Do not try again. Tell your user."
  return denial('refused', decision, { cause: error, advice: { retry: 'never', message } })
}
