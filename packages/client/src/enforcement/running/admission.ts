import { DeniedError } from '../../errors/denied-error.js'
import { isPermitted } from '../../is-permitted.js'
import type { CallSignal } from '../../options.js'
import type { Asked } from '../asking/asked.js'
import { abortReason } from '../asking/giving-up.js'
import type { ShownDecision, Would } from '../reporting/enforcement-event.js'
import type { Settle } from '../settling/settlement.js'

/** Options of one admission. */
export interface AdmitOptions<Signal extends CallSignal = CallSignal> {
  /** If it is aborted before the action begins, the action does not run, and the promise rejects with the signal's reason. */
  readonly signal?: Signal | undefined
  /**
   * The same key with the same question gives the same decision. Default: random.
   *
   * With the same key and `holder` the action runs at least once, even after a crash: an action that had begun begins again.
   * Pass the payment provider the id of the decision as its idempotency key, or set `runs: 'at-most-once'`.
   * Source: docs/settlement.md "Once over a crash".
   */
  readonly idempotencyKey?: string | undefined
  /**
   * Names the job that runs the action: the same after its restart, different for each job. Default: random. Like the key it
   * may have any length and any characters: see docs/sdk.md "Keys and holders".
   */
  readonly holder?: string | undefined
  /**
   * Claims a reviewed decision, and continues with it after a pause. Default: `holder`. With a random value for each process,
   * an approved action runs at most once, even if several processes resume it with the same key and holder.
   */
  readonly claimHolder?: string | undefined
  /**
   * How the action continues after `pause`: by the `key` and holder (default), or by the `id` of the decision, which the next
   * admission gets as `goOnWith`. Then it needs no key.
   */
  readonly pauseBy?: 'key' | 'id' | undefined
  /**
   * The id of a decision about the same question, asked with the same API key: continues with that decision instead of asking.
   * For an action that was paused by its id, and for a review that was answered since. With a `claimHolder`, only that holder
   * can continue. Make sure that the id comes from you.
   */
  readonly goOnWith?: string | undefined
  /**
   * Any text that distinguishes calls with the same question that do different things, such as a hash of the arguments that
   * the question leaves out. A repeat takes up only a review of the same variant. A hash of the text is sent.
   *
   * Source: docs/settlement.md "Repeat a call that awaits a review".
   */
  readonly variant?: string | undefined
  /** Names the admission in every event about it. Never sent. */
  readonly tag?: string | undefined
  /**
   * Within the running action of a guard that asked the same, on Node: `ask` for a separate decision (default), or `share`
   * that guard's decision, once.
   * Source: docs/settlement.md "Guards within guards".
   */
  readonly nested?: 'share' | 'ask' | undefined
}

/** The action may run: once, now, as it was asked. */
export interface PermittedAdmission {
  readonly kind: 'permitted'
  readonly asked: Asked
  /** Frozen at every depth. */
  readonly decision: ShownDecision
  /** For the service that acts on it; not enumerable, never logged. */
  readonly permit_token: string
  readonly settle: Settle
  /** The signal that was passed. */
  readonly signal: CallSignal | undefined
  /** Whether the decision has expired, by the clock of the point that admitted it. */
  readonly isExpired: boolean
  /**
   * Call it once, right before the action, with nothing in between.
   *
   * @throws DeniedError `expired` if the decision has expired, `settled` if it was settled since, `already_claimed` if the
   * action had begun; and the signal's reason if it was aborted since. The decision is then rejected, unless the action has
   * begun, or an earlier run of the same job may have begun it.
   */
  begin(): void
  /**
   * Gives the decision back, before the action begins or after it has interrupted itself. Nothing is settled. Until the
   * decision expires, `admit` with the same `idempotencyKey` and `holder` admits the action again; with `pauseBy: 'id'`,
   * `admit` with its id. If the decision cannot be asked for again, it is rejected before the action has begun, and left open
   * after that. After a settlement this does nothing.
   *
   * With `runs: 'at-most-once'` only this process can continue, because the permit is used up.
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
  /** @throws the signal's reason if it was aborted since */
  begin(): void
  /** As for a permitted admission. */
  pause(): void
}

/**
 * Only with the option `review: 'pause'`: the action may not run before a person has approved it. Ask again, with the same
 * `idempotencyKey` and `holder`, for the result of the review. Until then no event reports a refusal.
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
  /** Null if there is no tag. */
  readonly tag: string | null
  readonly permit_token: null
  /** Does nothing: the review stays open. */
  readonly settle: Settle
  readonly signal: CallSignal | undefined
  /** @throws DeniedError (`review_required`), always, with an event: for code that cannot pause */
  begin(): never
  /** Does nothing: the admission is paused. */
  pause(): void
}

/** An action that may run, or that awaits a review. Everything else is a DeniedError. */
export type Admission = PermittedAdmission | ObservedAdmission | PausedAdmission

/** What a permitted admission is made of. */
interface Permitted extends Pick<PermittedAdmission, 'asked' | 'decision' | 'permit_token' | 'settle' | 'signal'> {
  /** Settles it as an action that did not begin here. */
  readonly takeBack: () => void
  readonly pause: (hasBegun: boolean) => void
  readonly now: () => number
  readonly onDenied: (denied: DeniedError) => void
  /** Whether the run around this one, whose decision it shares, has ended. */
  readonly isOuterOver?: () => boolean
  readonly onBegun?: () => void
}

/** Lets the action begin once. */
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

  /** The action has begun, and the decision is neither over nor expired. */
  get isRunning(): boolean {
    return this.#isBegun && !this.isOver && !this.isExpired
  }

  /** It is settled or paused, or the run around it is over. */
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
interface Observed
  extends Pick<ObservedAdmission, 'would' | 'asked' | 'decision' | 'permit_token' | 'settle' | 'signal'>,
    Pick<Permitted, 'pause' | 'onBegun'> {}

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

/** @param denied what `begin` throws, after `onDenied` was called */
export function pausedAdmission(
  paused: Pick<PausedAdmission, 'asked' | 'decision' | 'tag' | 'settle' | 'signal'>,
  denied: DeniedError,
  onDenied: (denied: DeniedError) => void,
): PausedAdmission {
  return {
    kind: 'paused',
    reason: 'review_required',
    ...paused,
    question: questionAbout(paused.asked),
    expires_at: paused.decision.expires_at,
    permit_token: null,
    begin() {
      onDenied(denied)
      throw denied
    },
    pause: () => undefined,
  }
}

/** The resource is in quotation marks: its text must not be able to continue the sentence. */
function questionAbout({ agent_id, action, resource }: Asked): string {
  const on = resource === null ? '' : ` on ${JSON.stringify(resource)}`
  return `The agent ${agent_id} asks to do ${action}${on}.`
}
