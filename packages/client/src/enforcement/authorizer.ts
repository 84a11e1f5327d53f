import { holderOf, idempotencyKeyOf } from '../call-names.js'
import { ApiError } from '../errors/api-error.js'
import { DeniedError } from '../errors/denied-error.js'
import { UnavailableError } from '../errors/unavailable-error.js'
import { isPermitted } from '../is-permitted.js'
import type { Decision } from '../wire.js'
import { Aborted, unlessAborted } from './abort.js'
import type { AdmitOptions } from './admission.js'
import type { Turn } from './admitted-decisions.js'
import type { Asked } from './arguments/asked.js'
import { deepFreeze } from './arguments/frozen-copy.js'
import { readQuestion } from './arguments/question.js'
import type { AskedCall, Asking, AskingCalls, Question } from './asking.js'
import { denial, denialBy, denialFor } from './denial.js'
import type { ShownDecision } from './enforcement-event.js'
import type { EnforcementSettings } from './enforcement-options.js'
import { faultPlaceOf, noteFaultPlace } from './fault-place.js'
import { Late, unlessLate } from './late.js'
import { RepeatableCall } from './repeatable-call.js'
import { isTaken } from './review-end.js'
import { type AdmissionSteps, ReviewedCalls } from './reviewed-calls.js'
import { isForReview, type Progress, type Settler } from './settlement/settler.js'

/** So much longer is listened for an answer that nobody waits for, in milliseconds. */
const LATE_ANSWER_MS = 5_000

/** THE place where everything that is not a clear yes, known or not, becomes an error. */
export class Authorizer implements AdmissionSteps {
  readonly #calls: AskingCalls
  readonly #settings: EnforcementSettings
  readonly #settler: Settler
  readonly #reviews: ReviewedCalls

  constructor(calls: AskingCalls, settings: EnforcementSettings, settler: Settler) {
    this.#calls = calls
    this.#settings = settings
    this.#settler = settler
    this.#reviews = new ReviewedCalls(calls, settings, this)
  }

  /**
   * The permit for what may run now, by this holder alone, and was not admitted before. `progress` says how far it came.
   *
   * @throws Aborted once the signal is aborted, and anything else for what may not run
   */
  async permitFor({ asked, options }: Question, progress: Progress): Promise<string> {
    const { signal, holder = crypto.randomUUID(), claimHolder = holder, idempotencyKey, goOnWith } = options
    const isRepeatable = idempotencyKey === undefined && this.#settings.mode === 'enforce'
    const repeatable = isRepeatable ? new RepeatableCall(asked, options) : undefined
    const call = { asked, options, holder, claimHolder, repeatable }
    const decision =
      goOnWith === undefined
        ? ((await this.#reviews.leftBehind(call, progress)) ?? (await this.#ask(call, progress)))
        : await this.#reviews.goOn(goOnWith, call, progress)
    if (decision.status === 'authorized') this.take(decision, progress)
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
   * Uses the permit up, with a new idempotency key each time: of all runs of a job, crashed ones too, the action begins in the
   * one that is answered.
   *
   * After an answer that was lost the permit may be used up, and the action has not begun here. It is rejected then, unless
   * an earlier run of the job can have redeemed it, and begun.
   */
  async #redeem(permit_token: string, decision: Decision, asked: Asked, progress: Progress): Promise<void> {
    const { signal, turn } = progress
    // It was paused here, and nobody else can go on with it.
    if (turn === null || turn.isRedeemed) return
    try {
      const timeoutMs = this.timeoutMs
      const redeemed = await unlessAborted(this.#calls.redeem(permit_token, { timeoutMs }), signal)
      if (redeemed.id !== decision.id || !isPermitted(redeemed, asked, new Date(this.#settings.now())))
        throw new UnavailableError('bad_answer', 'POST /v1/permits/redeem: the answer permits something else')
    } catch (error) {
      const denied = error instanceof Aborted ? error : unredeemed(error, decision)
      if (DeniedError.isInstance(denied) && denied.reason === 'permit_already_used') progress.turn = null
      throw denied
    }
    turn.isRedeemed = true
    progress.mayHaveBegun = turn.hasBegun
    if (signal?.aborted) throw new Aborted(signal)
  }

  /** @throws Aborted, or DeniedError for what cannot be asked */
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
      progress.asked = readQuestion(request, (agent_id) => this.#calls.agentOf(agent_id))
      return { asked: progress.asked, options }
    } catch (error) {
      const denied = DeniedError.isInstance(error) ? error : new DeniedError('mapping_failed', { cause: error })
      if (place !== undefined) noteFaultPlace(denied, place)
      throw denied
    }
  }

  /** @param isLast there was another review, which somebody else has run meanwhile: this one is the call's own */
  async #ask(call: AskedCall, progress: Progress, isLast = false): Promise<Decision> {
    const { signal, idempotencyKey } = call.options
    const decision = await this.#authorizeOrGoOn(call, progress)
    this.note(decision, progress)
    if (!isForReview(decision)) return decision
    progress.isOnlyOurs = idempotencyKey === undefined
    const older = isLast ? undefined : await this.#reviews.older(decision, call)
    if (signal?.aborted) throw new Aborted(signal)
    if (older === undefined) return this.#reviewedOrTaken(decision, call, progress)
    this.#settler.takeBack({ ...progress }, undefined, `it repeats ${older.id}`)
    progress.isOnlyOurs = false
    return (await this.#reviews.takeUp(older, call, progress)) ?? (await this.#ask(call, progress, true))
  }

  /** An equal call of another process may have taken up the review that this one waits for, and have run: then this one asks again. */
  async #reviewedOrTaken(decision: Decision, call: AskedCall, progress: Progress): Promise<Decision> {
    try {
      return await this.#reviews.reviewed(decision, call, progress)
    } catch (error) {
      if (call.repeatable === undefined || error instanceof Aborted || !isTaken(error)) throw error
    }
    progress.decision = null
    return this.#ask(call, progress, true)
  }

  note(decision: Decision, progress: Progress): void {
    const { asked } = progress
    progress.decision = decision
    if (asked !== null) this.#settler.report(progress, { type: 'decision', asked, decision: shown(decision) })
  }

  get timeoutMs(): number {
    return this.#settings.timeoutMs ?? this.#calls.timeoutMs
  }

  /** What this very process has claimed is asked for by its own claim. */
  async #authorizeOrGoOn(call: AskedCall, progress: Progress): Promise<Decision> {
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
   * Not given the signal, and more time than there is: the answer to a question that nobody waits for any more is taken back
   * when it comes, or it would hold its budget until it expires. Not when somebody knows its key and holder, and so gets the
   * same permit by asking again.
   */
  async #authorize({ asked, options, holder, repeatable }: AskedCall, progress: Progress): Promise<Decision> {
    const { signal, idempotencyKey } = options
    const given = idempotencyKey === undefined ? {} : { idempotencyKey }
    const { resource, context, ...names } = asked
    const question = { ...names, ...(resource === null ? {} : { resource }), ...(context === null ? {} : { context }) }
    const isOnlyOurs = idempotencyKey === undefined
    const { isAskedAgain } = progress
    const timeoutMs = this.timeoutMs
    const asking = this.#calls.authorize(
      { ...question, ...given, holder, timeoutMs },
      isAskedAgain ? 0 : LATE_ANSWER_MS,
      repeatable?.newRequestId(),
    )
    try {
      return await unlessAborted(isAskedAgain ? asking : unlessLate(asking, timeoutMs), signal)
    } catch (error) {
      const isGivenUp = error instanceof Aborted || error instanceof Late
      if (isGivenUp && !isAskedAgain) this.#takeBackLater(asking, { ...progress, isOnlyOurs })
      throw error instanceof Late ? error.unavailable : error
    }
  }

  #takeBackLater(asking: Promise<Decision>, progress: Progress): void {
    const takeBack = (decision: Decision): void => {
      const turn = decision.status === 'authorized' ? this.#turnOf(decision) : null
      this.#settler.takeBack({ ...progress, decision, turn, mayHaveBegun: false })
    }
    void this.#calls.settlements.track(asking.then(takeBack, () => undefined))
  }

  /** @throws DeniedError (`already_claimed`) when this process runs it, or has run it */
  take(decision: Decision, progress: Progress): void {
    progress.turn ??= this.#turnOf(decision)
    if (progress.turn === null) throw denial('already_claimed', decision)
    progress.mayHaveBegun ||= progress.turn.hasBegun
  }

  #turnOf({ id, expires_at }: Decision): Turn | null {
    return this.#calls.admitted.take(id, Date.parse(expires_at), this.#settings.now()) ?? null
  }
}

/** Without its permit, and frozen. */
export function shown({ permit_token: _permit, ...decision }: Decision): ShownDecision {
  deepFreeze(decision)
  return decision
}

/** @throws TypeError */
function assertAdmitOptions(options: AdmitOptions): void {
  const { signal, idempotencyKey, holder, claimHolder, variant, pauseBy, goOnWith, tag, nested } = options
  if (idempotencyKey !== undefined) idempotencyKeyOf(idempotencyKey)
  if (holder !== undefined) holderOf(holder)
  if (claimHolder !== undefined) holderOf(claimHolder, 'claimHolder')
  if (nested !== undefined && nested !== 'share' && nested !== 'ask') {
    throw new TypeError("nested has to be 'share' or 'ask'")
  }
  if (pauseBy !== undefined && pauseBy !== 'key' && pauseBy !== 'id')
    throw new TypeError("pauseBy has to be 'key' or 'id'")
  if (goOnWith !== undefined && (typeof goOnWith !== 'string' || idempotencyKey !== undefined)) {
    throw new TypeError('goOnWith has to be the id of a decision, and leaves no question for an idempotencyKey')
  }
  if (variant !== undefined && typeof variant !== 'string') throw new TypeError('variant has to be a string')
  if (tag !== undefined && typeof tag !== 'string') throw new TypeError('tag has to be a string')
  if (signal !== undefined && !(typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function')) {
    throw new TypeError('signal has to be an AbortSignal')
  }
}

/** Why the action does not run: its permit could not be redeemed. */
function unredeemed(error: unknown, decision: Decision): DeniedError {
  if (!ApiError.isInstance(error) || error.code !== 'insufficient_scope') return denialFor(error, decision)
  const message =
    "runs: 'at-most-once' needs an API key with the scope permits:redeem. Do not try again. Tell your user."
  return denial('refused', decision, { cause: error, advice: { retry: 'never', message } })
}
