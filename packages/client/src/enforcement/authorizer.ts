import type { AuthorizeRequest } from '../authorize-request.js'
import { DeniedError } from '../errors/denied-error.js'
import { isPermitted } from '../is-permitted.js'
import { type CallSignal, checkIdempotencyKey } from '../options.js'
import type { ReviewWaitOptions } from '../resources/decisions.js'
import type { Decision } from '../wire.js'
import { Aborted, unlessAborted } from './abort.js'
import type { AdmitOptions } from './admission.js'
import type { Asked, GuardRequest } from './arguments/asked.js'
import { deepFreeze } from './arguments/held-data.js'
import { readQuestion } from './arguments/question.js'
import { denial, denialBy } from './denial.js'
import type { ShownDecision } from './enforcement-event.js'
import type { EnforcementSettings } from './enforcement-options.js'
import { Late, unlessLate } from './late.js'
import { isForReview, type Progress, type Settler, type Settling } from './settlement/settler.js'

/** The calls that asking is made of. */
export interface AskingCalls extends Settling {
  /** The agent that is asked for. @throws TypeError for another one than the client's own, or none at all */
  agentOf(agent_id: string | undefined): string
  /** @param lateMs how long an answer is still taken after the time limit, in milliseconds */
  authorize(request: AuthorizeRequest, lateMs: number): Promise<Decision>
  waitForReview(decision: Decision, options: ReviewWaitOptions): Promise<Decision>
  /** Time limit of a call, in milliseconds. */
  readonly timeoutMs: number
}

/** A question and what steers the asking. */
export interface Asking {
  readonly request: GuardRequest
  readonly options: AdmitOptions
}

/** So much longer is listened for an answer that nobody waits for, in milliseconds. */
const LATE_ANSWER_MS = 5_000

/** THE place where everything that is not a clear yes, known or not, becomes an error. */
export class Authorizer {
  readonly #calls: AskingCalls
  readonly #settings: EnforcementSettings
  readonly #settler: Settler

  constructor(calls: AskingCalls, settings: EnforcementSettings, settler: Settler) {
    this.#calls = calls
    this.#settings = settings
    this.#settler = settler
  }

  /**
   * The permit for what may run now, by this holder alone, and was not admitted before. `progress` says how far it came.
   *
   * @throws Aborted once the signal is aborted, and anything else for what may not run
   */
  async permitFor(ask: () => Asking, progress: Progress): Promise<string> {
    const { asked, options } = this.#question(ask, progress)
    const { signal, holder = crypto.randomUUID() } = options
    if (signal?.aborted) throw new Aborted(signal)
    progress.decision = await this.#authorize(asked, options, holder)
    this.#settings.tell({ type: 'decision', asked, decision: shown(progress.decision) })
    if (isForReview(progress.decision)) {
      progress.isOnlyOurs = options.idempotencyKey === undefined
      progress.decision = await this.#review(progress.decision, holder, signal)
      this.#settings.tell({ type: 'decision', asked, decision: shown(progress.decision) })
    }
    const { decision } = progress
    const isAuthorized = decision.status === 'authorized'
    progress.isOurs = isAuthorized && this.#isFirst(decision)
    if (isAuthorized && !progress.isOurs) throw denial('already_claimed', decision)
    if (signal?.aborted) throw new Aborted(signal)
    const now = this.#settings.now()
    if (!isPermitted(decision, asked, new Date(now))) throw denialBy(decision, now)
    if (decision.permit_token === undefined) throw denial('agent_suspended', decision)
    return decision.permit_token
  }

  #question(ask: () => Asking, progress: Progress): { readonly asked: Asked; readonly options: AdmitOptions } {
    try {
      const { request, options } = ask()
      assertAdmitOptions(options)
      progress.signal = options.signal
      progress.asked = readQuestion(request, (agent_id) => this.#calls.agentOf(agent_id))
      return { asked: progress.asked, options }
    } catch (error) {
      throw DeniedError.isInstance(error) ? error : new DeniedError('mapping_failed', { cause: error })
    }
  }

  /**
   * Not given the signal, and more time than there is: the answer to a question that nobody waits for any more is taken back
   * when it comes, or it would hold its budget until it expires. Not when it came too late to a question whose key and holder
   * somebody knows, who gets the same permit by asking again.
   */
  async #authorize(asked: Asked, { signal, ...given }: AdmitOptions, holder: string): Promise<Decision> {
    const { resource, context, ...names } = asked
    const question = { ...names, ...(resource === null ? {} : { resource }), ...(context === null ? {} : { context }) }
    const isOnlyOurs = given.idempotencyKey === undefined
    const isAskedAgain = !isOnlyOurs && given.holder !== undefined
    const timeoutMs = this.#settings.timeoutMs ?? this.#calls.timeoutMs
    const asking = this.#calls.authorize(
      { ...question, ...given, holder, timeoutMs },
      isAskedAgain ? 0 : LATE_ANSWER_MS,
    )
    try {
      return await unlessAborted(isAskedAgain ? asking : unlessLate(asking, timeoutMs), signal)
    } catch (error) {
      if (error instanceof Aborted || error instanceof Late) this.#takeBackLater(asking, { asked, signal, isOnlyOurs })
      throw error instanceof Late ? error.unavailable : error
    }
  }

  #takeBackLater(asking: Promise<Decision>, question: Pick<Progress, 'asked' | 'signal' | 'isOnlyOurs'>): void {
    const takeBack = (decision: Decision): void => {
      const isOurs = decision.status === 'authorized' && this.#isFirst(decision)
      this.#settler.takeBack({ ...question, decision, isOurs })
    }
    void this.#calls.settlements.track(asking.then(takeBack, () => undefined))
  }

  /** The decision after a person has approved it and this holder has claimed it. */
  async #review(decision: Decision, holder: string, signal: CallSignal | undefined): Promise<Decision> {
    const { mode, review, timeoutMs = this.#calls.timeoutMs, reviewTimeoutMs } = this.#settings
    const isWaiting = decision.status === 'awaiting_review'
    if (isWaiting && (review === 'throw' || mode === 'observe')) throw denialBy(decision, this.#settings.now())
    const limitMs = isWaiting ? reviewTimeoutMs : timeoutMs
    try {
      return await this.#calls.waitForReview(decision, { holder, signal, timeoutMs: limitMs })
    } catch (error) {
      throw signal?.aborted ? new Aborted(signal) : error
    }
  }

  #isFirst({ id, expires_at }: Decision): boolean {
    return this.#calls.admitted.add(id, Date.parse(expires_at), this.#settings.now())
  }
}

/** Without its permit, and frozen. */
export function shown({ permit_token: _permit, ...decision }: Decision): ShownDecision {
  deepFreeze(decision)
  return decision
}

/** @throws TypeError */
function assertAdmitOptions({ signal, idempotencyKey, holder }: AdmitOptions): void {
  if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
  if (holder !== undefined && typeof holder !== 'string') throw new TypeError('holder has to be a string')
  if (signal !== undefined && !(typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function')) {
    throw new TypeError('signal has to be an AbortSignal')
  }
}
