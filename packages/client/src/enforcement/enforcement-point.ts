import type { AuthorizeRequest } from '../countersign-client.js'
import { DeniedError } from '../errors/denied-error.js'
import { isPermitted } from '../is-permitted.js'
import { type CallSignal, checkIdempotencyKey } from '../options.js'
import type { ReviewWaitOptions } from '../resources/decisions.js'
import type { Decision, JsonObject } from '../wire.js'
import { Aborted, unlessAborted } from './abort.js'
import { type Admission, type AdmitOptions, OpenAdmission, WatchedAdmission } from './admission.js'
import type { AdmittedDecisions } from './admitted-decisions.js'
import type { Asked, GuardRequest } from './asked.js'
import { denial, denialBy, denialFor, wouldBe } from './denial.js'
import type { ShownDecision } from './enforcement-event.js'
import { type EnforcementOptions, type EnforcementSettings, resolveEnforcement } from './enforcement-options.js'
import { ActionRun, type GuardRun } from './guard-run.js'
import { deepFreeze } from './held-data.js'
import { type ProtectMapping, protectFunction } from './protect.js'
import { readQuestion } from './question.js'
import { SettleOnce } from './settle-once.js'
import type { ActionOutcome, Settlement, SettlementState } from './settlement.js'
import type { SettlementQueue } from './settlement-queue.js'
import { isOutcomeUnknown } from './unknown-outcome.js'

/** What an enforcement point needs of its client. */
export interface EnforcementCalls {
  /** The agent that is asked for. @throws TypeError for another one than the client's own, or none at all */
  agentOf(agent_id: string | undefined): string
  authorize(request: AuthorizeRequest): Promise<Decision>
  waitForReview(decision: Decision, options: ReviewWaitOptions): Promise<Decision>
  /** Shared by every enforcement point of the client. */
  readonly settlements: SettlementQueue
  flush(options?: FlushOptions): Promise<number>
  readonly admitted: AdmittedDecisions
}

/** A question and what steers the asking. */
export interface Asking {
  readonly request: GuardRequest
  readonly options: AdmitOptions
}

/** For draining the queue of settlements. */
export interface FlushOptions {
  /** In milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

/** How far an admission has come. */
interface Progress {
  asked: Asked | null
  decision: Decision | null
  signal: CallSignal | undefined
  /** Nobody else in this process was admitted to run the decision. */
  isOurs: boolean
  /** Nobody can ask for the decision again. */
  isOnlyOurs: boolean
}

/**
 * Where actions are stopped or let through: the one layer that every integration is built on, made by `client.enforcement`.
 *
 * It admits an action only on a decision that permits it, about the very agent, action and resource, that is not expired,
 * held by this caller alone, and once. Everything else, known or not, is a DeniedError.
 *
 * Source: docs/enforcement.md.
 */
export class EnforcementPoint {
  readonly mode: 'enforce' | 'observe'
  readonly #settings: EnforcementSettings
  readonly #calls: EnforcementCalls

  /** @internal */
  constructor(calls: EnforcementCalls, options: EnforcementOptions = {}) {
    this.#calls = calls
    this.#settings = resolveEnforcement(options)
    this.mode = this.#settings.mode
  }

  /**
   * Asks, waits for a review where the options say so, and resolves when the action may run. Then `begin()` it, run it, and
   * settle it, once.
   *
   * `request` may be a function: it maps to the question, is called once, before anything is sent, and what it throws is a
   * deny. In the mode `observe` every action is admitted, as `observed`.
   *
   * @throws DeniedError whatever keeps the action from running, this deployment's own mistakes included
   * @throws the signal's reason, once it is aborted
   */
  admit(request: GuardRequest | (() => GuardRequest), options: AdmitOptions = {}): Promise<Admission> {
    return this.admitBy(() => ({ request: typeof request === 'function' ? request() : request, options }))
  }

  /**
   * Runs an action if it may: asks, runs it once with a frozen copy of what was asked about, and settles by how it ended.
   * Resolves or rejects as the action does; a settlement that fails changes nothing about that.
   *
   * @throws DeniedError when it may not run
   * @throws the signal's reason, when it was aborted before it began
   */
  async guard<Result, Context extends JsonObject | null = null, Signal extends CallSignal = CallSignal>(
    request: GuardRequest<Context>,
    action: (asked: Asked<Context>, run: GuardRun<Signal>) => Result,
    options: AdmitOptions<Signal> = {},
  ): Promise<Awaited<Result>> {
    if (typeof action !== 'function') throw new TypeError('the action has to be a function')
    const admission = await this.admit(request, options)
    // Without a question there is only what was given; the mode `observe` alone goes on without one.
    const asked = (admission.asked ?? request) as Asked<Context>
    return this.runAdmitted(admission, options.signal, (run) => action(asked, run))
  }

  /**
   * A function of the same parameters that runs `fn` only if it may, with the arguments that were asked about: they are
   * copied and frozen when it is called.
   *
   * @throws TypeError for a faulty mapping; the function rejects as `guard` does
   *
   * @example
   * const refund = point.protect(pay, { action: 'payment.refund', resource: (orderId) => `order:${orderId}` })
   */
  protect<Args extends readonly unknown[], Result>(
    fn: (...args: Args) => Result,
    mapping: ProtectMapping<Args>,
  ): (...args: Args) => Promise<Awaited<Result>> {
    return protectFunction(this, fn, mapping)
  }

  /**
   * The action that a tool or function stands for: the mapped one, else what the option `unmapped` says. To be called by
   * the function that maps to the question.
   *
   * @throws DeniedError (`unmapped`)
   */
  actionOf(tool: string, mapped?: string | undefined): string {
    if (mapped !== undefined) return mapped
    if (this.#settings.unmapped === 'map' && /^[A-Za-z0-9_-]+$/.test(tool)) return `tool.${tool}`
    throw new DeniedError('unmapped')
  }

  /** Tells the decision point what is not told yet; resolves with how many settlements of the client are still open. */
  flush(options?: FlushOptions): Promise<number> {
    return this.#calls.flush(options)
  }

  /** @internal */
  async admitBy(ask: () => Asking): Promise<Admission> {
    const progress: Progress = { asked: null, decision: null, signal: undefined, isOurs: false, isOnlyOurs: false }
    try {
      const permit_token = await this.#permitFor(ask, progress)
      return this.#admission(progress, permit_token)
    } catch (error) {
      if (error instanceof Aborted) {
        this.#takeBack(progress)
        throw error.reason
      }
      const denied = denialFor(error, progress.decision)
      if (this.mode === 'observe') return this.#observe(progress, denied)
      this.#takeBack({ ...progress, isOnlyOurs: false })
      const { asked, decision } = progress
      this.#settings.tell({
        type: 'denied',
        asked,
        reason: denied.reason,
        decision: decision && shown(decision),
        error: denied,
      })
      throw denied
    }
  }

  /** @internal Begins, runs and settles; nothing happens between beginning and running. */
  async runAdmitted<Result, Signal extends CallSignal>(
    admission: Admission,
    signal: Signal | undefined,
    action: (run: GuardRun<Signal>) => Result,
  ): Promise<Awaited<Result>> {
    const run = new ActionRun(admission, signal)
    admission.begin()
    let value: Awaited<Result>
    try {
      value = await action(run)
    } catch (error) {
      const kind = signal?.aborted || isOutcomeUnknown(error) ? 'unknown' : 'failed'
      await admission.settle.by({ kind, error })
      throw error
    }
    await admission.settle.by({ kind: 'succeeded', value, amount: run.amount } satisfies ActionOutcome)
    return value
  }

  /** The permit for what may run, and nothing else: THE place where everything that is not a clear yes becomes an error. */
  async #permitFor(ask: () => Asking, progress: Progress): Promise<string> {
    const { asked, options } = this.#question(ask, progress)
    const { signal, holder = crypto.randomUUID() } = options
    if (signal?.aborted) throw new Aborted(signal)
    progress.decision = await this.#authorize(asked, { ...options, holder })
    this.#settings.tell({ type: 'decision', asked, decision: shown(progress.decision) })
    if (progress.decision.status === 'awaiting_review' || progress.decision.status === 'approved') {
      progress.isOnlyOurs = options.idempotencyKey === undefined
      progress.decision = await this.#review(progress.decision, holder, signal)
      this.#settings.tell({ type: 'decision', asked, decision: shown(progress.decision) })
    }
    const { decision } = progress
    const nowMs = this.#settings.now()
    if (decision.status === 'authorized') {
      progress.isOurs = this.#calls.admitted.add(decision.id, Date.parse(decision.expires_at), nowMs)
      if (!progress.isOurs) throw denial('already_claimed', decision)
    }
    if (signal?.aborted) throw new Aborted(signal)
    if (!isPermitted(decision, asked, new Date(nowMs))) throw denialBy(decision)
    if (decision.permit_token === undefined) throw denial('agent_suspended', decision)
    return decision.permit_token
  }

  #question(ask: () => Asking, progress: Progress): { readonly asked: Asked; readonly options: AdmitOptions } {
    try {
      const { request, options } = ask()
      progress.signal = options.signal
      const asked = readQuestion(request, (agent_id) => this.#calls.agentOf(agent_id))
      if (options.idempotencyKey !== undefined) checkIdempotencyKey(options.idempotencyKey)
      if (options.holder !== undefined && typeof options.holder !== 'string')
        throw new TypeError('holder has to be a string')
      progress.asked = asked
      return { asked, options }
    } catch (error) {
      throw DeniedError.isInstance(error) ? error : new DeniedError('mapping_failed', { cause: error })
    }
  }

  async #authorize(asked: Asked, { signal, ...options }: AdmitOptions): Promise<Decision> {
    const { resource, context, ...names } = asked
    const question = { ...names, ...(resource === null ? {} : { resource }), ...(context === null ? {} : { context }) }
    // Not given the signal: the answer of a question that nobody waits for any more is taken back when it comes.
    const asking = this.#calls.authorize({ ...question, ...options, timeoutMs: this.#settings.timeoutMs })
    try {
      return await unlessAborted(asking, signal)
    } catch (error) {
      if (error instanceof Aborted) {
        const isOnlyOurs = options.idempotencyKey === undefined
        const takeBack = (decision: Decision): void => {
          const isOurs =
            decision.status === 'authorized' &&
            this.#calls.admitted.add(decision.id, Date.parse(decision.expires_at), this.#settings.now())
          this.#takeBack({ asked, decision, signal, isOurs, isOnlyOurs })
        }
        void this.#calls.settlements.track(asking.then(takeBack, () => undefined))
      }
      throw error
    }
  }

  /** The decision after a person has approved it and this holder has claimed it. */
  async #review(decision: Decision, holder: string, signal: CallSignal | undefined): Promise<Decision> {
    const { review, timeoutMs, reviewTimeoutMs } = this.#settings
    const isWaiting = decision.status === 'awaiting_review'
    if (isWaiting && (review === 'throw' || this.mode === 'observe')) throw denialBy(decision)
    const limitMs = isWaiting ? reviewTimeoutMs : timeoutMs
    try {
      return await this.#calls.waitForReview(decision, { holder, signal, timeoutMs: limitMs })
    } catch (error) {
      throw signal?.aborted ? new Aborted(signal) : error
    }
  }

  #admission(progress: Progress, permit_token: string): Admission {
    const { asked, decision, signal } = progress
    if (asked === null || decision === null) throw new TypeError('there is nothing to admit')
    const { mode, now, tell } = this.#settings
    const settle = this.#settle(progress)
    const kept = { asked, decision: shown(decision), permit_token, settle, signal }
    if (mode === 'enforce') return new OpenAdmission({ ...kept, now })
    tell({ type: 'observed', asked, would: 'allow', reason: null, decision: kept.decision, error: null })
    return new WatchedAdmission({ ...kept, would: 'allow' })
  }

  #observe(progress: Progress, error: DeniedError): Admission {
    const { asked, signal } = progress
    const would = wouldBe(error)
    const decision = progress.decision && shown(progress.decision)
    this.#settings.tell({ type: 'observed', asked, would, reason: error.reason, decision, error })
    return new WatchedAdmission({ asked, decision, permit_token: null, settle: this.#settle(progress), signal, would })
  }

  /** What was not begun and cannot be begun by anyone else is rejected, so that it holds no budget and no reviewer. */
  #takeBack(progress: Progress): void {
    const isOpen = progress.decision?.status === 'awaiting_review' || progress.decision?.status === 'approved'
    if (!progress.isOurs && !(isOpen && progress.isOnlyOurs)) return
    void this.#settle(progress).reject('it did not begin')
  }

  #settle(progress: Progress): SettleOnce {
    const { tell, settleOn } = this.#settings
    const decision_id = progress.decision?.id
    return new SettleOnce({
      settleOn,
      send: (settlement) => this.#send(settlement, progress),
      fail: (error) => {
        const settlement = { settle: 'leave' } as const
        if (decision_id) tell({ type: 'settlement_failed', decision_id, settlement, error, willRetry: false })
      },
    })
  }

  async #send(settlement: Settlement, { decision, isOurs }: Progress): Promise<SettlementState> {
    const { tell, settleTimeoutMs } = this.#settings
    if (decision === null) return 'left'
    const isOpen = decision.status === 'awaiting_review' || decision.status === 'approved'
    const canBe = isOurs || (isOpen && settlement.settle === 'reject')
    const decision_id = decision.id
    if (settlement.settle === 'leave' || !canBe) {
      if (settlement.settle === 'leave') tell({ type: 'settled', decision_id, settlement })
      return 'left'
    }
    const onSettled = (): void => this.#calls.admitted.forget(decision_id)
    return this.#calls.settlements.settle({ decision_id, settlement, timeoutMs: settleTimeoutMs, tell, onSettled })
  }
}

/** Without its permit, and frozen. */
function shown({ permit_token: _permit, ...decision }: Decision): ShownDecision {
  deepFreeze(decision)
  return decision
}
