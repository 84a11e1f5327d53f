import type { SentBodyOf } from '@countersign/contract/operations'
import { nameOf } from '../call.js'
import { readDecisionOf } from '../decision-answer.js'
import { DECISION_ENDPOINTS, type Endpoint } from '../endpoints.js'
import type { PermittedDecision } from '../is-permitted.js'
import { answerOf, callOf } from '../operation.js'
import { type CallOptions, type CallSignal, checkTimeout, type IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import { ReviewWait } from '../review-wait.js'
import type {
  Approve,
  Claim,
  Confirm,
  Correct,
  Decision,
  DecisionDetail,
  DecisionExplanation,
  DecisionStatus,
  Decline,
  Effect,
  Reject,
} from '../wire.js'

/** The lifetime of a review, unless the decision point is configured otherwise. */
const REVIEW_WAIT_MS = 24 * 60 * 60 * 1000

/** Each answers with the decision in its new status. */
type TransitionName = `decisions.${'approve' | 'claim' | 'confirm' | 'correct' | 'decline' | 'reject'}`

/** All filters must match; an absent one matches everything. */
export interface DecisionQuery extends PageQuery {
  readonly agent_id?: string | undefined
  readonly action?: string | undefined
  readonly resource?: string | undefined
  readonly effect?: Effect | undefined
  readonly status?: DecisionStatus | undefined
  readonly policy_id?: string | undefined
  readonly request_hash?: string | undefined
  /** 32 lowercase hexadecimal digits. */
  readonly trace_id?: string | undefined
  /** Evaluated at this time or later. */
  readonly from?: string | undefined
  /** Evaluated before this time. */
  readonly to?: string | undefined
}

export interface DecisionGetOptions extends CallOptions {
  /** How long to wait for the decision to leave `awaiting_review`, in whole seconds. */
  readonly waitSeconds?: number | undefined
}

/** Options of the wait for a person's answer. */
export interface ReviewWaitOptions {
  /**
   * Names the job that runs the action: the same after a restart of that job, different for another job. `Countersign`
   * sends the hash of a name of more than 64 characters; `DecisionClient` refuses it. Default: the holder of the
   * `authorize` call that returned this very object, otherwise a random one.
   */
  readonly holder?: string | undefined
  /** Time limit of the whole wait, in milliseconds. Default 86,400,000, a day. */
  readonly timeoutMs?: number | undefined
  /** Ends the wait immediately; the promise rejects with the signal's reason. */
  readonly signal?: CallSignal | undefined
}

/** Handles decisions that were made with `client.authorize`. Source: docs/sdk-methods.md "Methods". */
export class Decisions {
  readonly #requester: Requester
  readonly #holders: WeakMap<Decision, string>

  /** @internal `holders`: the holder of each decision that this client returned. */
  constructor(requester: Requester, holders: WeakMap<Decision, string>) {
    this.#requester = requester
    this.#holders = holders
  }

  /**
   * Returns the present state of a decision; with its permit for the key that asked, while the action may run. With
   * `waitSeconds` (at most 30) the answer comes as soon as the decision no longer awaits a review; the time limit
   * starts after that wait.
   *
   * @throws ApiError not_found
   */
  async get(id: string, { waitSeconds, ...options }: DecisionGetOptions = {}): Promise<DecisionDetail> {
    const extraTimeMs = waitSeconds === undefined ? undefined : waitSeconds * 1000
    const call = callOf(DECISION_ENDPOINTS['decisions.get'], {
      params: { id },
      query: { wait: waitSeconds },
      extraTimeMs,
      options,
    })
    return readDecisionOf<DecisionDetail>(nameOf(call), await this.#requester.send(call), id)
  }

  list(query: DecisionQuery = {}, options?: CallOptions): Pages<DecisionDetail> {
    return pagesOf(this.#requester, DECISION_ENDPOINTS['decisions.list'], { query, options })
  }

  /** Explains the decision: every policy and rule considered, as of the decision. @throws ApiError not_found */
  async explanation(id: string, options?: CallOptions): Promise<DecisionExplanation> {
    return answerOf(this.#requester, DECISION_ENDPOINTS['decisions.explanation'], { params: { id }, options })
  }

  /**
   * Reports that the action happened. `amount` is what was really spent; without it each budget keeps what it reserved.
   * Repeating it with the same amount changes nothing, so a call with an unknown outcome can simply be repeated.
   *
   * @throws ApiError validation_failed, permit_redeemed, not_found, invalid_transition
   */
  async confirm(id: string, confirmation: Confirm = {}, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(DECISION_ENDPOINTS['decisions.confirm'], id, confirmation, options)
  }

  /**
   * Reports that the action did not happen, or withdraws a reviewed one: the reserved amounts are free again. Not for
   * an action that may have happened. Repeating it changes nothing.
   *
   * @throws ApiError validation_failed, permit_redeemed, not_found, invalid_transition
   */
  async reject(id: string, rejection: Reject = {}, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(DECISION_ENDPOINTS['decisions.reject'], id, rejection, options)
  }

  /**
   * Corrects what the caller confirmed or rejected. For an operator, with another key than the one that asked.
   *
   * @throws ApiError validation_failed, insufficient_scope, not_found, invalid_transition
   */
  async correct(id: string, correction: Correct, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(DECISION_ENDPOINTS['decisions.correct'], id, correction, options)
  }

  /**
   * Approves a review, on behalf of a person: the current policies decide it again, and its budgets are reserved.
   *
   * @throws ApiError self_approval, not_found, agent_suspended, invalid_transition, policy_denies, budget_exceeded
   */
  async approve(id: string, approval: Approve = {}, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(DECISION_ENDPOINTS['decisions.approve'], id, approval, options)
  }

  /** Declines a review, on behalf of a person. @throws ApiError self_approval, not_found, invalid_transition */
  async decline(id: string, declining: Decline = {}, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(DECISION_ENDPOINTS['decisions.decline'], id, declining, options)
  }

  /**
   * Takes an approved decision to run it, once: the answer contains the permit. `holder` is random unless given, and
   * the same on each retry. Check the answer with `isPermitted` before acting; `waitForReview` does all of it.
   *
   * @throws ApiError not_asker, not_found, already_claimed, agent_suspended, invalid_transition, policy_denies
   */
  async claim(id: string, claim: Claim = {}, options?: IdempotentCallOptions): Promise<Decision> {
    const body = { ...claim, holder: this.#requester.names.holderOf(claim.holder ?? crypto.randomUUID()) }
    return this.#transition(DECISION_ENDPOINTS['decisions.claim'], id, body, options)
  }

  /**
   * Waits until a person has answered the review of a decision, claims the decision if it was approved, and resolves
   * with it and its permit. It resolves in no other case, so the code after it may run the action.
   *
   * Takes the answer of `authorize`, or a stored id. Returns a decision that needed no review unchanged. After a
   * restart the same holder gets the same permit. While the decision point is down, the client keeps trying.
   *
   * @throws NotPermittedError when the action must not run: `reason` says whether it was declined, withdrawn, …
   * @throws UnavailableError (`timeout`) after the time limit; the review continues, and you can wait for it again
   * @throws ApiError not_asker, not_found, …
   *
   * @example
   * const decision = await client.authorize({ ...asked, holder: 'run-77', idempotencyKey: 'run-77/refund-1' })
   * const { permit_token } = await client.decisions.waitForReview(decision, { holder: 'run-77' })
   *
   * Source: docs/sdk.md "Wait for a review".
   */
  async waitForReview(decisionOrId: Decision | string, options: ReviewWaitOptions = {}): Promise<PermittedDecision> {
    const decision = typeof decisionOrId === 'string' ? undefined : decisionOrId
    const { id } = typeof decisionOrId === 'string' ? { id: decisionOrId } : decisionOrId
    const caller = decision && this.#holders.get(decision)
    const holder = options.holder ?? caller ?? crypto.randomUUID()
    const timeoutMs = checkTimeout('timeoutMs', options.timeoutMs ?? REVIEW_WAIT_MS)
    const wait = new ReviewWait(this, () => this.#requester.random(), { id, decision, holder })
    const limit = { timeoutMs, signal: options.signal, timeoutError: () => wait.timeoutError(timeoutMs) }
    return this.#requester.within(limit, (running) => wait.run(running))
  }

  async #transition<Name extends TransitionName>(
    endpoint: Endpoint<Name>,
    id: string,
    body: SentBodyOf<Name>,
    options: IdempotentCallOptions | undefined,
  ): Promise<Decision> {
    const call = callOf<TransitionName>(endpoint, { params: { id }, body: body as SentBodyOf<TransitionName>, options })
    return readDecisionOf(nameOf(call), await this.#requester.send(call), id)
  }
}
