import { DeniedError } from '../errors/denied-error.js'
import { isPermitted } from '../is-permitted.js'
import type { CallSignal } from '../options.js'
import { abortReason } from './abort.js'
import type { Asked } from './arguments/asked.js'
import type { ShownDecision, Would } from './enforcement-event.js'
import type { Settle } from './settlement/settlement.js'

/** Options of one admission. */
export interface AdmitOptions<Signal extends CallSignal = CallSignal> {
  /** Aborted before the action begins: it does not run, and the promise rejects with the signal's reason. */
  readonly signal?: Signal | undefined
  /**
   * The same key with the same question gives the same decision. Default: random.
   *
   * With the same key and `holder` the action runs at least once over a crash: what was begun when the process died begins
   * again. Pass the payment provider the id of the decision as its idempotency key, or set `runs: 'at-most-once'`.
   * Source: docs/enforcement.md "Once over a crash".
   */
  readonly idempotencyKey?: string | undefined
  /**
   * Names the job that runs the action: stable over its restart, different for another. Default: random. Like the key it may
   * have any length and any characters: see docs/sdk.md "Keys and holders".
   */
  readonly holder?: string | undefined
  /**
   * Claims a reviewed decision, and goes on with it after a pause; default: `holder`. With a value that is random for each process, an
   * approved action runs at most once, even if several processes resume it with the same key and holder.
   */
  readonly claimHolder?: string | undefined
  /**
   * How to go on after `pause`: by the `key` and holder (default), or by the `id` of the decision, as `goOnWith` of the next admission.
   * Then it needs no key.
   */
  readonly pauseBy?: 'key' | 'id' | undefined
  /**
   * The id of a decision about the same question, asked with the same API key: goes on with that decision instead of asking. For an
   * action that was paused by its id, and for a review that was answered since. With a `claimHolder`, only that holder goes on. Make
   * sure that the id comes from you.
   */
  readonly goOnWith?: string | undefined
  /**
   * Any text that tells apart calls that ask the same and do different things, such as a hash of the arguments that the question leaves
   * out. A repeat takes up only a review of its own variant. A hash of the text is sent.
   *
   * Source: docs/enforcement.md "Repeat a call that awaits a review".
   */
  readonly variant?: string | undefined
  /** Names the admission in every event about it, and is sent nowhere. */
  readonly tag?: string | undefined
  /**
   * Within the running action of a guard that asked the same, on Node: `ask` for a decision of its own (default), or `share` the other
   * one, once.
   * Source: docs/enforcement.md "Guards within guards".
   */
  readonly nested?: 'share' | 'ask' | undefined
}

/** The action may run: once, now, as it was asked. */
export interface PermittedAdmission {
  readonly kind: 'permitted'
  readonly asked: Asked
  /** Frozen at every depth. */
  readonly decision: ShownDecision
  /** For the service that acts on it; in no picture of this object. */
  readonly permit_token: string
  readonly settle: Settle
  /** The signal that was passed. */
  readonly signal: CallSignal | undefined
  /** Whether the decision has expired, by the clock of the point that admitted it. */
  readonly isExpired: boolean
  /**
   * Call it once, right before the action, with nothing in between.
   *
   * @throws DeniedError `expired` if the decision has expired, `settled` if it was settled since, `already_claimed` if the action was
   * begun before; and the signal's reason if it was aborted since. The decision is then rejected, unless the action was begun before, or
   * an earlier run of the same job may have begun it.
   */
  begin(): void
  /**
   * Gives the decision back, before the action begins or after it has interrupted itself. Nothing is settled. Until the decision
   * expires, `admit` with the same `idempotencyKey` and `holder` admits the action again; with `pauseBy: 'id'`, `admit` with its id. A
   * decision that cannot be asked for again is rejected if the action has not begun, else left open. Does nothing after it is settled.
   *
   * With `runs: 'at-most-once'` only this process can go on with it, because its permit is used up.
   */
  pause(): void
}

/** The mode is `observe`: the action runs, whatever the decision is. */
export interface ObservedAdmission {
  readonly kind: 'observed'
  readonly would: Would
  /** Null when there was no question. */
  readonly asked: Asked | null
  /** Null when there was no answer. */
  readonly decision: ShownDecision | null
  /** Null unless it would have run. */
  readonly permit_token: string | null
  /** Confirms only a decision that was authorized. */
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  /** @throws the signal's reason when it was aborted meanwhile */
  begin(): void
  /** As of a permitted one. */
  pause(): void
}

/**
 * With the option `review: 'pause'` alone: the action may not run before a person has approved it. Ask again, with the same
 * `idempotencyKey` and `holder`, to learn the result of the review. Until then there is no event of a refusal.
 */
export interface PausedAdmission {
  readonly kind: 'paused'
  readonly asked: Asked
  /** Frozen at every depth. */
  readonly decision: ShownDecision
  /** One sentence for the reviewer: which agent wants to do which action on which resource. It names no policy. */
  readonly question: string
  readonly reason: 'review_required'
  /** When the review ends, in RFC 3339. */
  readonly expires_at: string
  /** Null without one. */
  readonly tag: string | null
  readonly permit_token: null
  /** Does nothing: the review goes on. */
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  /** @throws DeniedError (`review_required`), always, with an event: for code that cannot pause */
  begin(): never
  /** Does nothing: it is paused. */
  pause(): void
}

/** An action may run, or awaits a review. Everything else is a DeniedError. */
export type Admission = PermittedAdmission | ObservedAdmission | PausedAdmission

/** What a permitted admission is made of. */
interface Permitted {
  readonly asked: Asked
  readonly decision: ShownDecision
  readonly permit_token: string
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  /** Settles it as what has not begun here. */
  readonly takeBack: () => void
  readonly pause: (hasBegun: boolean) => void
  readonly now: () => number
  readonly onDenied: (denied: DeniedError) => void
  /** Whether the run around this one has ended, whose decision it shares. */
  readonly isOuterOver?: () => boolean
  readonly onBegun?: () => void
}

/** The one door: `begin` opens it once. */
export class OpenAdmission implements PermittedAdmission {
  readonly kind = 'permitted'
  readonly asked: Asked
  readonly decision: ShownDecision
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  readonly #permitted: Permitted
  #isBegun = false
  #isPaused = false

  constructor(permitted: Permitted) {
    this.asked = permitted.asked
    this.decision = permitted.decision
    this.settle = permitted.settle
    this.signal = permitted.signal
    this.#permitted = permitted
  }

  get permit_token(): string {
    return this.#permitted.permit_token
  }

  get isExpired(): boolean {
    return !isPermitted(this.decision, this.asked, new Date(this.#permitted.now()))
  }

  /** It has begun, and is neither over nor expired. */
  get isRunning(): boolean {
    return this.#isBegun && !this.isOver && !this.isExpired
  }

  /** It is settled or paused, or what it is a part of is. */
  get isOver(): boolean {
    return this.settle.isCalled || this.#permitted.isOuterOver?.() === true
  }

  begin(): void {
    if (this.#isBegun || this.#isPaused) throw this.#denial('already_claimed')
    this.#isBegun = true
    if (this.isOver) throw this.#denial('settled')
    const { signal } = this
    try {
      if (signal?.aborted) throw abortReason(signal)
      if (this.isExpired) throw this.#denial('expired')
    } catch (error) {
      this.#permitted.takeBack()
      throw error
    }
    this.#permitted.onBegun?.()
  }

  pause(): void {
    this.#isPaused = true
    this.#permitted.pause(this.#isBegun)
  }

  #denial(reason: 'already_claimed' | 'settled' | 'expired'): DeniedError {
    const denied = new DeniedError(reason, { decision_id: this.decision.id })
    this.#permitted.onDenied(denied)
    return denied
  }
}

/** What an observed admission is made of. */
interface Observed {
  readonly would: Would
  readonly asked: Asked | null
  readonly decision: ShownDecision | null
  readonly permit_token: string | null
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  readonly pause: (hasBegun: boolean) => void
  readonly onBegun?: () => void
}

export class WatchedAdmission implements ObservedAdmission {
  readonly kind = 'observed'
  readonly would: Would
  readonly asked: Asked | null
  readonly decision: ShownDecision | null
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  readonly #observed: Observed
  #isBegun = false

  constructor(observed: Observed) {
    this.would = observed.would
    this.asked = observed.asked
    this.decision = observed.decision
    this.settle = observed.settle
    this.signal = observed.signal
    this.#observed = observed
  }

  get permit_token(): string | null {
    return this.#observed.permit_token
  }

  /** It has begun, and is not over. */
  get isRunning(): boolean {
    return this.#isBegun && !this.isOver
  }

  /** It is settled or paused. */
  get isOver(): boolean {
    return this.settle.isCalled
  }

  begin(): void {
    const { signal } = this
    this.#isBegun = true
    if (signal?.aborted) {
      void this.settle.reject('it did not begin')
      throw abortReason(signal)
    }
    this.#observed.onBegun?.()
  }

  pause(): void {
    this.#observed.pause(this.#isBegun)
  }
}

/** What a paused admission is made of. */
interface Waiting {
  readonly asked: Asked
  readonly decision: ShownDecision
  readonly tag: string | null
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  readonly denied: DeniedError
  readonly onDenied: (denied: DeniedError) => void
}

export class WaitingAdmission implements PausedAdmission {
  readonly kind = 'paused'
  readonly reason = 'review_required'
  readonly asked: Asked
  readonly decision: ShownDecision
  readonly question: string
  readonly expires_at: string
  readonly tag: string | null
  readonly permit_token = null
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  readonly #waiting: Waiting

  constructor(waiting: Waiting) {
    this.asked = waiting.asked
    this.decision = waiting.decision
    this.question = questionAbout(waiting.asked)
    this.expires_at = waiting.decision.expires_at
    this.tag = waiting.tag
    this.settle = waiting.settle
    this.signal = waiting.signal
    this.#waiting = waiting
  }

  begin(): never {
    const { denied, onDenied } = this.#waiting
    onDenied(denied)
    throw denied
  }

  pause(): void {
    // It is.
  }
}

/** The resource is in quotes: its text must not be able to continue the sentence. */
function questionAbout({ agent_id, action, resource }: Asked): string {
  const on = resource === null ? '' : ` on ${JSON.stringify(resource)}`
  return `The agent ${agent_id} asks to do ${action}${on}.`
}
