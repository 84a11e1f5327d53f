/** Waits until a person has answered a review, and claims the action if it was approved. */

import { ApiError } from './errors/api-error.js'
import { NotPermittedError } from './errors/not-permitted-error.js'
import type { NotPermittedReason } from './errors/refusal-reason.js'
import { UnavailableError } from './errors/unavailable-error.js'
import { type AskedAction, isAnswerTo, isPermitted, type PermittedDecision } from './is-permitted.js'
import type { CallOptions, IdempotentCallOptions } from './options.js'
import type { Running } from './requester.js'
import { isFaultStatus } from './retry.js'
import type { Decision, DecisionStatus } from './wire.js'

/** The two calls that a wait makes. */
export interface ReviewCalls {
  get(id: string, options: CallOptions & { readonly waitSeconds: number }): Promise<Decision>
  claim(id: string, claim: { readonly holder: string }, options: IdempotentCallOptions): Promise<Decision>
}

/** The decision that a wait is about. */
export interface ReviewWaitSubject {
  readonly id: string
  /** The decision as the caller has it. */
  readonly decision: Decision | undefined
  readonly holder: string
}

/** The decision point delays an answer for 30 s at most. */
const POLL_SECONDS = 25
/** A shorter round did not wait for anything. The next round is then delayed, longer with each such round. */
const PATIENT_MS = 10_000
const BASE_MS = 500
const CAP_MS = 10_000

/** Why a decision of this status can no longer run; null while it still can. */
const ENDS: Readonly<Record<DecisionStatus, NotPermittedReason | null>> = {
  awaiting_review: null,
  approved: null,
  authorized: null,
  denied: 'denied',
  declined: 'declined',
  expired: 'expired',
  confirmed: 'settled',
  rejected: 'settled',
}

/** Refusals of a claim that this wait must not retry: it passes them to the caller. */
const REFUSALS: ReadonlySet<string> = new Set<NotPermittedReason>([
  'already_claimed',
  'permit_already_used',
  'policy_denies',
  'agent_suspended',
])

export class ReviewWait {
  readonly #calls: ReviewCalls
  readonly #random: () => number
  readonly #subject: ReviewWaitSubject
  /** Shared by every attempt to claim, so that a claim with a lost answer is the same claim. */
  readonly #idempotencyKey = crypto.randomUUID()
  #lastFault: unknown

  constructor(calls: ReviewCalls, random: () => number, subject: ReviewWaitSubject) {
    this.#calls = calls
    this.#random = random
    this.#subject = subject
  }

  /** Creates the rejection of a wait that takes too long: its cause is the last fault of the decision point, if any. */
  timeoutError(timeoutMs: number): UnavailableError {
    const cause = this.#lastFault === undefined ? {} : { cause: this.#lastFault }
    return new UnavailableError('timeout', `decision ${this.#subject.id}: no permit within ${timeoutMs} ms`, cause)
  }

  async run(running: Running): Promise<PermittedDecision> {
    let known = this.#subject.decision
    // A caller that has the answer of `authorize` is the holder of a decision that needed no review.
    if (known !== undefined && known.effect !== 'review') return permitted(known, known, 'not_reviewed')
    for (let hurried = 0; ; ) {
      const startedMs = running.remainingMs()
      let retryAfterSeconds = 0
      try {
        if (known === undefined || known.status === 'awaiting_review') known = await this.#look(running, known)
        if (known.status !== 'awaiting_review') return await this.#claim(running, known)
      } catch (error) {
        if (running.signal.aborted || !mayPass(error)) throw error
        this.#lastFault = error
        retryAfterSeconds = (ApiError.isInstance(error) && error.retryAfterSeconds) || 0
        // The decision has changed since it was read.
        if (isChanged(error)) known = undefined
      }
      hurried = startedMs - running.remainingMs() < PATIENT_MS ? hurried + 1 : 0
      if (hurried > 0) await running.pause(retryAfterSeconds * 1000 + pauseMs(hurried, this.#random()))
    }
  }

  /**
   * Returns the decision once it no longer awaits a review, or as it is when the decision point has waited long enough.
   */
  async #look({ signal, remainingMs }: Running, known: Decision | undefined): Promise<Decision> {
    const { id } = this.#subject
    const waitSeconds = Math.min(POLL_SECONDS, Math.max(1, Math.ceil(remainingMs() / 1000)))
    const seen = await this.#calls.get(id, { waitSeconds, signal })
    const asked = known ?? this.#subject.decision
    if (asked === undefined || isAnswerTo(seen, asked)) return seen
    throw notAbout(id)
  }

  async #claim({ signal }: Running, known: Decision): Promise<PermittedDecision> {
    const end = endOf(known)
    if (end !== null) throw notPermitted(known, end)
    // Reading it shows its permit to every job of the key that asked; only asking again tells who its holder is.
    if (known.effect !== 'review') throw notPermitted(known, 'not_reviewed')
    const { id, holder } = this.#subject
    const options = { signal, idempotencyKey: this.#idempotencyKey }
    const claimed = await this.#calls.claim(id, { holder }, options).catch((error: unknown) => {
      const code = ApiError.isInstance(error) ? error.code : ''
      throw REFUSALS.has(code) ? notPermitted(known, code as NotPermittedReason, error) : error
    })
    return permitted(claimed, known, 'agent_suspended')
  }
}

/** Returns the decision if it may run now and is about the requested action; nothing else passes this check. */
function permitted(decision: Decision, about: AskedAction, withoutPermit: NotPermittedReason): PermittedDecision {
  if (!isAnswerTo(decision, about)) throw notAbout(decision.id)
  if (isPermitted(decision, about)) {
    if (decision.permit_token !== undefined) return { ...decision, permit_token: decision.permit_token }
    throw notPermitted(decision, withoutPermit)
  }
  const end = endOf(decision) ?? (decision.status === 'authorized' ? 'expired' : null)
  if (end !== null) throw notPermitted(decision, end)
  throw new UnavailableError('bad_answer', `decision ${decision.id}: it is claimed and still ${decision.status}`)
}

function endOf({ status, review }: Decision): NotPermittedReason | null {
  return status === 'rejected' && review?.status === 'withdrawn' ? 'withdrawn' : ENDS[status]
}

function notPermitted({ id, review }: Decision, reason: NotPermittedReason, cause?: unknown): NotPermittedError {
  const comment = review?.comment ?? null
  return new NotPermittedError(id, reason, cause === undefined ? { comment } : { comment, cause })
}

function notAbout(id: string): UnavailableError {
  return new UnavailableError('bad_answer', `decision ${id}: the answer is about another agent, action or resource`)
}

/** Whether another attempt may help: the decision point is down or busy, or the decision has changed. */
function mayPass(error: unknown): boolean {
  if (UnavailableError.isInstance(error)) return error.kind !== 'bad_answer' || isFaultStatus(error.status ?? 0)
  return ApiError.isInstance(error) && (isFaultStatus(error.status) || isChanged(error))
}

function isChanged(error: unknown): boolean {
  return ApiError.isInstance(error) && error.code === 'invalid_transition'
}

/**
 * `rounds` counts those without a wait, from 1. Returns half of a growing window plus a random part of the other half.
 */
function pauseMs(rounds: number, random: number): number {
  return Math.min(CAP_MS, BASE_MS * 2 ** (rounds - 1)) * (0.5 + random / 2)
}
