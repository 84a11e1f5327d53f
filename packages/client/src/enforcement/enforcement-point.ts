import { DeniedError } from '../errors/denied-error.js'
import type { CallSignal } from '../options.js'
import type { JsonObject } from '../wire.js'
import { Aborted } from './abort.js'
import { type Admission, type AdmitOptions, OpenAdmission, WaitingAdmission, WatchedAdmission } from './admission.js'
import type { Asked, GuardRequest } from './arguments/asked.js'
import type { Asking, AskingCalls, Question } from './asking.js'
import { atOnce } from './at-once.js'
import { Authorizer, shown } from './authorizer.js'
import { denialFor, wouldBe } from './denial.js'
import type { EnforcementEvent } from './enforcement-event.js'
import { type EnforcementOptions, type EnforcementSettings, resolveEnforcement } from './enforcement-options.js'
import { ActionRun, type GuardRun } from './guard-run.js'
import { GuardedRun, type GuardTerms } from './guarded-run.js'
import { type ProtectMapping, protectFunction } from './protect.js'
import type { RunContext } from './run-context.js'
import { outcomeOfError, outcomeOfValue, type RunOptions } from './run-options.js'
import type { SettleOnce } from './settlement/settle-once.js'
import { type Progress, Settler } from './settlement/settler.js'
import { actionOfTool } from './tool-action.js'

/** What an enforcement point needs of its client. */
export interface EnforcementCalls extends AskingCalls {
  /** Hears the events of a point without `onEvent`. */
  readonly unheard: (event: EnforcementEvent, now: () => number) => void
  readonly runContext: RunContext
  flush(options?: FlushOptions): Promise<number>
}

/** For draining the queue of settlements. */
export interface FlushOptions {
  /** In milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

/**
 * Where actions are stopped or let through: the one layer that every integration is built on, made by `client.enforcement`.
 *
 * It admits an action once, and only on a decision that permits it: about the same agent, action and resource, not expired, and held by
 * this caller alone. Everything else, known or not, is a DeniedError.
 *
 * Source: docs/enforcement.md.
 */
export class EnforcementPoint {
  readonly mode: 'enforce' | 'observe'
  readonly #settings: EnforcementSettings
  readonly #calls: EnforcementCalls
  readonly #settler: Settler
  readonly #authorizer: Authorizer

  /** @internal */
  constructor(calls: EnforcementCalls, options: EnforcementOptions = {}) {
    this.#settings = resolveEnforcement(options, calls.unheard)
    this.#calls = calls
    this.#settler = new Settler(calls, this.#settings)
    this.#authorizer = new Authorizer(calls, this.#settings, this.#settler)
    this.mode = this.#settings.mode
  }

  /**
   * Asks, waits for a review where the options say so, and resolves when the action may run. Then `begin()` it, run it, and
   * settle it, once.
   *
   * `request` may be a function that maps to the question. It is called once, before anything is sent; if it throws, the action is
   * denied. In the mode `observe` every action is admitted, as `observed`.
   *
   * @throws DeniedError whatever keeps the action from running, this deployment's own mistakes included
   * @throws the signal's reason, once it is aborted
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
   * @throws the signal's reason, when it was aborted before it began
   */
  async guard<Result, Context extends JsonObject | null = null, Signal extends CallSignal = CallSignal>(
    request: GuardRequest<Context>,
    action: (asked: Asked<Context>, run: GuardRun<Signal>) => Result,
    options: AdmitOptions<Signal> = {},
  ): Promise<Awaited<Result>> {
    assertAction(action)
    const admission = await this.#ask(request, options, this.#calls)
    // Without a question there is only what was given; the mode `observe` alone goes on without one.
    const asked = (admission.asked ?? request) as Asked<Context>
    return this.run(admission, (run) => action(asked, run as GuardRun<Signal>))
  }

  /**
   * Begins what was admitted, runs it, and settles by how it ended: the latter half of `guard`, for integrations whose action
   * is one function. Resolves or rejects as the action does.
   *
   * @throws what `begin` throws; then the action has not run
   */
  async run<Result>(
    admission: Admission,
    action: (run: GuardRun) => Result,
    { outcome, isPause }: RunOptions<Awaited<Result>> = {},
  ): Promise<Awaited<Result>> {
    const run = new ActionRun(admission)
    // Nothing happens between beginning and running.
    admission.begin()
    let value: Awaited<Result>
    try {
      value = await this.within(admission, () => action(run))
    } catch (error) {
      await settleError(admission, error, isPause)
      throw error
    }
    await admission.settle.by(() => outcomeOfValue(value, run.amount, admission.signal, outcome))
    return value
  }

  /**
   * Does a part of an action that has begun, as `run` does: a guard directly within it that asks the same can share the decision. For
   * integrations whose action is more than one function.
   *
   * Source: docs/enforcement.md "Guards within guards".
   */
  within<Result>(admission: Admission, work: () => Result): Result {
    const run = GuardedRun.of(admission)
    return run === undefined ? work() : this.#calls.runContext.within(run, work)
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
   * @param prefix what actions that are made of names begin with: words with dots between them, up to 64 characters
   * @throws DeniedError (`unmapped`), also for what has no name; TypeError for a faulty prefix
   *
   * Source: docs/enforcement.md "Actions of tools".
   */
  actionOf(tool: string, mapped?: string | undefined, prefix = 'tool'): string {
    if (mapped !== undefined) return mapped
    if (this.#settings.unmapped === 'map' && typeof tool === 'string' && tool !== '') return actionOfTool(tool, prefix)
    throw new DeniedError('unmapped')
  }

  /** Sends the settlements of the client that are still in the queue; resolves with the number of those that remain. */
  flush(options?: FlushOptions): Promise<number> {
    return this.#calls.flush(options)
  }

  /** @internal `site`: where the guard stands. */
  async admitBy(ask: () => Asking, site: object): Promise<Admission> {
    const progress: Progress = {
      tag: null,
      asked: null,
      decision: null,
      signal: undefined,
      turn: null,
      isOnlyOurs: false,
      isAskedAgain: false,
      isPausedById: false,
      leaveBehind: null,
      mayHaveBegun: false,
    }
    let terms: GuardTerms | undefined
    try {
      const question = this.#authorizer.question(ask, progress)
      terms = this.#termsOf(question, site)
      const around = this.#calls.runContext.current()
      if (around?.sharesWith(terms, question.options.nested)) return this.#share(around, progress, terms)
      return this.#admit(progress, terms, await this.#authorizer.permitFor(question, progress))
    } catch (error) {
      if (error instanceof Aborted) {
        this.#settler.takeBack(progress)
        throw error.reason
      }
      const denied = denialFor(error, progress.decision)
      if (this.mode === 'observe') return this.#observe(progress, terms, denied)
      if (this.#settings.review === 'pause' && denied.reason === 'review_required') return this.#pause(progress, denied)
      // What awaits a review may be asked for again by its id.
      this.#settler.takeBack({ ...progress, isOnlyOurs: false })
      this.#reportDenied(progress, denied)
      throw denied
    }
  }

  #termsOf({ asked }: Question, site: object): GuardTerms {
    const { mode, runs } = this.#settings
    return { client: this.#calls, site, asked, mode, runs }
  }

  /** By the decision of the guard around this one: nothing is asked. */
  #share(around: GuardedRun, progress: Progress, terms: GuardTerms): Admission {
    const { admission: outer } = around
    const { decision, permit_token } = outer
    const { signal } = progress
    const { asked } = terms
    progress.decision = decision
    const settle = this.#settler.settleWithin(progress, around.settle)
    const onBegun = (): void => around.settle.beginWithin()
    const shared = { asked, settle, signal, onBegun, pause: () => void settle.pause() }
    if (this.mode === 'observe') {
      const would = outer.kind === 'observed' ? outer.would : 'allow'
      return this.#note(new WatchedAdmission({ ...shared, decision, permit_token, would }), settle, terms, around)
    }
    if (outer.kind !== 'permitted') throw new TypeError('an observed admission permits nothing')
    const door = {
      takeBack: () => void settle.pause(),
      now: this.#settings.now,
      onDenied: (denied: DeniedError) => this.#reportDenied(progress, denied),
      isOuterOver: () => outer.isOver,
    }
    const { decision: permitting, permit_token: permit } = outer
    const admission = new OpenAdmission({ ...shared, ...door, decision: permitting, permit_token: permit })
    return this.#note(admission, settle, terms, around)
  }

  #note(
    admission: OpenAdmission | WatchedAdmission,
    settle: SettleOnce,
    terms: GuardTerms,
    around?: GuardedRun,
  ): Admission {
    return new GuardedRun(admission, settle, terms, around).admission
  }

  #admit(progress: Progress, terms: GuardTerms, permit_token: string): Admission {
    const { asked, decision, signal } = progress
    if (asked === null || decision === null) throw new TypeError('there is nothing to admit')
    const settle = this.#settler.settleOf(progress)
    const pause = (hasBegun: boolean): void => this.#settler.pause(progress, settle, hasBegun)
    const admitted = { asked, decision: shown(decision), permit_token, settle, signal }
    if (this.mode === 'enforce') {
      const onDenied = (denied: DeniedError): void => this.#reportDenied(progress, denied)
      const takeBack = (): void => this.#settler.takeBack(progress, settle)
      const door = { takeBack, pause, now: this.#settings.now, onDenied }
      return this.#note(new OpenAdmission({ ...admitted, ...door }), settle, terms)
    }
    const observed = { asked, would: 'allow', reason: null, decision: admitted.decision, error: null } as const
    this.#settler.report(progress, { type: 'observed', ...observed })
    return this.#note(new WatchedAdmission({ ...admitted, pause, would: 'allow' }), settle, terms)
  }

  #observe(progress: Progress, terms: GuardTerms | undefined, error: DeniedError): Admission {
    const { asked, signal } = progress
    const would = wouldBe(error)
    const decision = progress.decision && shown(progress.decision)
    this.#settler.report(progress, { type: 'observed', asked, would, reason: error.reason, decision, error })
    // It runs without its review: nobody is to be asked for what has happened already.
    if (would === 'review') this.#settler.takeBack(progress, undefined, 'it was only observed')
    const settle = this.#settler.settleOf({ ...progress, isOnlyOurs: false })
    const pause = (hasBegun: boolean): void => this.#settler.pause(progress, settle, hasBegun)
    const admission = new WatchedAdmission({ asked, decision, permit_token: null, settle, signal, pause, would })
    return terms === undefined ? admission : this.#note(admission, settle, terms)
  }

  /** It may be asked for again: neither taken back nor told to be denied, unless somebody wants to begin it. */
  #pause(progress: Progress, denied: DeniedError): Admission {
    const { asked, decision, tag, signal } = progress
    if (asked === null || decision === null) throw denied
    const settle = this.#settler.settleOf(progress)
    settle.pause()
    const onDenied = (): void => this.#reportDenied(progress, denied)
    return new WaitingAdmission({ asked, decision: shown(decision), tag, settle, signal, denied, onDenied })
  }

  #reportDenied(progress: Progress, error: DeniedError): void {
    const { asked, decision } = progress
    const denied = { asked, reason: error.reason, decision: decision && shown(decision), error }
    this.#settler.report(progress, { type: 'denied', ...denied })
  }
}

async function settleError(
  admission: Admission,
  error: unknown,
  isPause: RunOptions<unknown>['isPause'],
): Promise<void> {
  const { settle, signal } = admission
  let isPaused: unknown
  try {
    isPaused = atOnce('isPause', isPause?.(error))
  } catch (fault) {
    // Whether it goes on later nobody knows.
    await settle.by(() => {
      throw fault
    })
  }
  if (isPaused) admission.pause()
  else await settle.by(outcomeOfError(error, signal))
}

/** @throws TypeError */
export function assertAction(action: unknown): void {
  if (typeof action === 'function') return
  throw new TypeError('the action has to be a function, as in guard(question, action, options)')
}
