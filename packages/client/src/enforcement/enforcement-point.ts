import { DeniedError } from '../errors/denied-error.js'
import type { CallSignal } from '../options.js'
import { inDecisionSpan } from '../tracing/decision-span.js'
import { noteRefusal } from '../tracing/refused-span.js'
import type { JsonObject } from '../wire.js'
import type { Asked, GuardRequest } from './asking/asked.js'
import { Authorizer } from './asking/authorizer.js'
import { denialFor, wouldBe } from './asking/denial.js'
import { Aborted } from './asking/giving-up.js'
import type { Asking, Question } from './asking/question.js'
import { atOnce } from './at-once.js'
import type { EnforcementCalls, FlushOptions } from './enforcement-calls.js'
import { type EnforcementOptions, type EnforcementSettings, resolveEnforcement } from './enforcement-options.js'
import { shown } from './reporting/enforcement-event.js'
import {
  type Admission,
  type AdmitOptions,
  OpenAdmission,
  pausedAdmission,
  WatchedAdmission,
} from './running/admission.js'
import { type GuardRun, outcomeOfError, outcomeOfValue, Run, type RunOptions } from './running/guard-run.js'
import { type ProtectMapping, protectFunction } from './running/protect.js'
import { SharedDecision, type Terms } from './running/shared-decision.js'
import { Progress } from './settling/progress.js'
import { actionOfTool } from './tools/tool-action.js'

/**
 * Stops actions or lets them through: the layer under every integration. `client.enforcement` makes it.
 *
 * It admits an action once, and only on a decision that permits it: about the same agent, action and resource, not expired,
 * and held by this caller alone. Everything else, even an unknown answer, is a DeniedError.
 *
 * Source: docs/enforcement.md.
 */
export class EnforcementPoint {
  readonly mode: 'enforce' | 'observe'
  readonly #settings: EnforcementSettings
  readonly #calls: EnforcementCalls
  readonly #authorizer: Authorizer

  /** @internal */
  constructor(calls: EnforcementCalls, options: EnforcementOptions = {}) {
    const { timeoutMs = calls.timeoutMs, ...settings } = resolveEnforcement(options, calls.unheard)
    this.#settings = { ...settings, timeoutMs }
    this.#calls = calls
    this.#authorizer = new Authorizer(calls, this.#settings)
    this.mode = this.#settings.mode
  }

  /**
   * Asks, waits for a review if the options say so, and resolves when the action may run. Then `begin()` it, run it, and
   * settle it, once.
   *
   * `request` may be a function that maps to the question. It is called once, before anything is sent; if it throws, the
   * action is denied. In the mode `observe` every action is admitted, as `observed`.
   *
   * @throws DeniedError for everything that keeps the action from running, including mistakes of this deployment
   * @throws the signal's reason as soon as it is aborted
   */
  admit(request: GuardRequest | (() => GuardRequest), options: AdmitOptions = {}): Promise<Admission> {
    return this.#ask(request, options, this)
  }

  #ask(request: GuardRequest | (() => GuardRequest), options: AdmitOptions, site: object): Promise<Admission> {
    const read =
      typeof request === 'function' ? () => atOnce('the function that maps to the request', request()) : () => request
    return this.admitBy(() => ({ request: read, options }), site)
  }

  /**
   * Runs an action if it may: asks, runs it once with a frozen copy of what was asked about, and settles by how it ended.
   * Resolves or rejects as the action does; a settlement that fails changes nothing about that.
   *
   * @throws DeniedError when it may not run
   * @throws the signal's reason if it was aborted before the action began
   */
  async guard<Result, Context extends JsonObject | null = null, Signal extends CallSignal = CallSignal>(
    request: GuardRequest<Context>,
    action: (asked: Asked<Context>, run: GuardRun<Signal>) => Result,
    options: AdmitOptions<Signal> = {},
  ): Promise<Awaited<Result>> {
    assertAction(action)
    const admission = await this.#ask(request, options, this.#calls)
    // Only the mode `observe` runs an action without a question. It then gets the request as it was given.
    const asked = (admission.asked ?? request) as Asked<Context>
    return this.run(admission, (run) => action(asked, run as GuardRun<Signal>))
  }

  /**
   * Begins an admitted action, runs it, and settles by how it ended: the second half of `guard`, for integrations whose
   * action is one function. Resolves or rejects as the action does.
   *
   * @throws what `begin` throws; the action has then not run
   */
  async run<Result>(
    admission: Admission,
    action: (run: GuardRun) => Result,
    options: RunOptions<Awaited<Result>> = {},
  ): Promise<Awaited<Result>> {
    const run = new Run(admission)
    // Nothing happens between beginning and running.
    admission.begin()
    let value: Awaited<Result>
    try {
      value = await this.within(admission, () => action(run))
    } catch (error) {
      await settleError(admission, error, options)
      throw error
    }
    await admission.settle.by(() => outcomeOfValue(value, run.amount, admission.signal, options.outcome))
    return value
  }

  /**
   * Runs a part of an action that has begun, so that a guard directly within it that asks the same can share the decision.
   * For integrations whose action is more than one function; `run` does this by itself.
   *
   * Source: docs/settlement.md "Guards within guards".
   */
  within<Result>(admission: Admission, work: () => Result): Result {
    const run = SharedDecision.of(admission)
    return run === undefined ? work() : this.#calls.runContext.run(run, work)
  }

  /**
   * Returns a function with the same parameters that runs `fn` only if it may, with the arguments that were asked about:
   * they are copied and frozen at the call.
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
   * The action of a tool or function: the mapped one, else what the option `unmapped` says. Call it in the function that
   * maps to the question.
   *
   * @param prefix the beginning of actions that are made of names: words with dots between them, up to 64 characters
   * @throws DeniedError (`unmapped`), also for a tool without a name; TypeError for a faulty prefix
   *
   * Source: docs/enforcement.md "Actions of tools".
   */
  actionOf(tool: string, mapped?: string | undefined, prefix = 'tool'): string {
    if (mapped !== undefined) return mapped
    if (this.#settings.unmapped === 'map' && typeof tool === 'string' && tool !== '') return actionOfTool(tool, prefix)
    throw new DeniedError('unmapped')
  }

  /** Sends the queued settlements of the client. Resolves with the number that remain. */
  flush(options?: FlushOptions): Promise<number> {
    return this.#calls.flush(options)
  }

  /** @internal `site` identifies the guard. */
  async admitBy(ask: () => Asking, site: object): Promise<Admission> {
    const progress = new Progress(this.#calls, this.#settings)
    let terms: Terms | undefined
    try {
      const question = this.#authorizer.question(ask, progress)
      const { mode, runs } = this.#settings
      terms = { client: this.#calls, site, asked: question.asked, mode, runs }
      const around = SharedDecision.around(this.#calls.runContext)
      if (around?.sharesWith(terms, question.options.nested)) return this.#share(around, progress, terms)
      return this.#admit(progress, terms, await this.#permitFor(question, progress))
    } catch (error) {
      if (error instanceof Aborted) {
        progress.takeBack()
        throw error.reason
      }
      const denied = denialFor(error, progress.decision)
      if (terms === undefined) this.#noteUnasked(denied, progress)
      if (this.mode === 'observe') return this.#observe(progress, terms, denied)
      if (this.#settings.review === 'pause' && denied.reason === 'review_required') return this.#pause(progress, denied)
      // An action that awaits a review may be asked for again by its id.
      progress.copy({ isOnlyOurs: false }).takeBack()
      progress.reportDenied(denied)
      throw denied
    }
  }

  async #permitFor(question: Question, progress: Progress): Promise<string> {
    return inDecisionSpan({ ...question.asked, mode: this.mode }, async (span) => {
      progress.span = span
      try {
        return await this.#authorizer.permitFor(question, progress)
      } catch (error) {
        const { reason, cause } = denialFor(error, progress.decision)
        if (!(error instanceof Aborted)) noteRefusal(span, reason, cause)
        throw error
      }
    })
  }

  /** A trace also says why a call was refused without a question. */
  #noteUnasked({ reason, cause }: DeniedError, { asked }: Progress): void {
    void inDecisionSpan({ ...asked, mode: this.mode }, async (span) => noteRefusal(span, reason, cause))
  }

  /** Admits by the decision of the guard around this one, without asking. */
  #share(around: SharedDecision, progress: Progress, terms: Terms): Admission {
    const { admission: outer } = around
    const { decision, permit_token } = outer
    const { signal } = progress
    const { asked } = terms
    progress.decision = decision
    const settle = progress.settleWithin(around.settle)
    const onBegun = (): void => around.settle.beginWithin()
    const shared = { asked, settle, signal, onBegun, pause: () => void settle.pause() }
    if (this.mode === 'observe') {
      const would = outer.kind === 'observed' ? outer.would : 'allow'
      const observed = new WatchedAdmission({ ...shared, decision, permit_token, would })
      return new SharedDecision(observed, settle, terms, around).admission
    }
    if (outer.kind !== 'permitted') throw new TypeError('an observed admission permits nothing')
    const door = {
      takeBack: () => void settle.pause(),
      now: this.#settings.now,
      onDenied: (denied: DeniedError) => progress.reportDenied(denied),
      isOuterOver: () => outer.isOver,
    }
    const permit = { decision: outer.decision, permit_token: outer.permit_token }
    return new SharedDecision(new OpenAdmission({ ...shared, ...door, ...permit }), settle, terms, around).admission
  }

  #admit(progress: Progress, terms: Terms, permit_token: string): Admission {
    const { asked, decision, signal } = progress
    if (asked === null || decision === null) throw new TypeError('there is nothing to admit')
    const settle = progress.settle()
    const pause = (hasBegun: boolean): void => progress.pause(settle, hasBegun)
    const admitted = { asked, decision: shown(decision), permit_token, settle, signal }
    if (this.mode === 'enforce') {
      const onDenied = (denied: DeniedError): void => progress.reportDenied(denied)
      const takeBack = (): void => progress.takeBack(settle)
      const door = { takeBack, pause, now: this.#settings.now, onDenied }
      return new SharedDecision(new OpenAdmission({ ...admitted, ...door }), settle, terms).admission
    }
    const observed = { asked, would: 'allow', reason: null, decision: admitted.decision, error: null } as const
    progress.report({ type: 'observed', ...observed })
    return new SharedDecision(new WatchedAdmission({ ...admitted, pause, would: 'allow' }), settle, terms).admission
  }

  #observe(progress: Progress, terms: Terms | undefined, error: DeniedError): Admission {
    const { asked, signal } = progress
    const would = wouldBe(error)
    const decision = progress.decision && shown(progress.decision)
    progress.report({ type: 'observed', asked, would, reason: error.reason, decision, error })
    // It runs without its review, so no person should be asked about it.
    if (would === 'review') progress.takeBack(undefined, 'it was only observed')
    const settle = progress.copy({ isOnlyOurs: false }).settle()
    const pause = (hasBegun: boolean): void => progress.pause(settle, hasBegun)
    const admission = new WatchedAdmission({ asked, decision, permit_token: null, settle, signal, pause, would })
    return terms === undefined ? admission : new SharedDecision(admission, settle, terms).admission
  }

  /** It may be asked for again, so it is not taken back. A refusal is reported only if the caller begins it. */
  #pause(progress: Progress, denied: DeniedError): Admission {
    const { asked, decision, tag, signal } = progress
    if (asked === null || decision === null) throw denied
    const settle = progress.settle()
    settle.pause()
    const paused = { asked, decision: shown(decision), tag, settle, signal }
    return pausedAdmission(paused, denied, (denial) => progress.reportDenied(denial))
  }
}

async function settleError(
  admission: Admission,
  error: unknown,
  { isPause, hasNotRun }: RunOptions<never>,
): Promise<void> {
  const { settle, signal } = admission
  let isPaused: unknown
  try {
    isPaused = atOnce('isPause', isPause?.(error))
  } catch (fault) {
    // It is unknown whether the action continues later.
    await settle.by(() => {
      throw fault
    })
  }
  if (isPaused) admission.pause()
  else await settle.by(() => outcomeOfError(error, signal, hasNotRun))
}

/** @throws TypeError */
export function assertAction(action: unknown): void {
  if (typeof action === 'function') return
  throw new TypeError('the action must be a function, as in guard(question, action, options)')
}
