import { path } from '../call.js'
import { holderOf } from '../call-names.js'
import { readDecisionOf } from '../decision-answer.js'
import type { PermittedDecision } from '../is-permitted.js'
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

/** As long as a review lives, unless the decision point is configured otherwise. */
const REVIEW_WAIT_MS = 24 * 60 * 60 * 1000

/** All filters have to fit; an absent one fits everything. */
export interface DecisionQuery extends PageQuery {
  readonly agent_id?: string | undefined
  readonly action?: string | undefined
  readonly resource?: string | undefined
  readonly effect?: Effect | undefined
  readonly status?: DecisionStatus | undefined
  readonly policy_id?: string | undefined
  readonly request_hash?: string | undefined
  /** Evaluated at this time or later. */
  readonly from?: string | undefined
  /** Evaluated before this time. */
  readonly to?: string | undefined
}

export interface DecisionGetOptions extends CallOptions {
  /** How long to wait for the decision to leave `awaiting_review`, in whole seconds. */
  readonly waitSeconds?: number | undefined
}

/** For waiting until a person has answered. */
export interface ReviewWaitOptions {
  /**
   * Names the job that runs the action: stable over a restart of that job, different for another; one of more than 64
   * characters is hashed before it is sent. Default: the holder of
   * the `authorize` that returned this very object, else a random one.
   */
  readonly holder?: string | undefined
  /** Time limit of the whole wait, in milliseconds. Default 86,400,000, a day. */
  readonly timeoutMs?: number | undefined
  /** Ends the wait immediately; the promise rejects with the signal's reason. */
  readonly signal?: CallSignal | undefined
}

/** Decisions that were made; `client.authorize` makes one. Source: docs/sdk.md "Methods". */
export class Decisions {
  readonly #requester: Requester
  readonly #holders: WeakMap<Decision, string>

  /** @internal `holders`: who asked for a decision that this client returned. */
  constructor(requester: Requester, holders: WeakMap<Decision, string>) {
    this.#requester = requester
    this.#holders = holders
  }

  /**
   * A decision as it stands now; with its permit for the key that asked, while the action may run. With `waitSeconds` (at
   * most 30) the answer comes as soon as the decision awaits no review any more; the time limit counts from then on.
   *
   * @throws ApiError not_found
   */
  async get(id: string, { waitSeconds, ...options }: DecisionGetOptions = {}): Promise<DecisionDetail> {
    const to = path`/v1/decisions/${id}`
    const waiting = waitSeconds === undefined ? {} : { query: { wait: waitSeconds }, extraTimeMs: waitSeconds * 1000 }
    const answer = await this.#requester.send({ method: 'GET', path: to, ...waiting, options })
    return readDecisionOf<DecisionDetail>(`GET ${to}`, answer, id)
  }

  list(query: DecisionQuery = {}, options?: CallOptions): Pages<DecisionDetail> {
    return pagesOf(this.#requester, '/v1/decisions', { ...query }, options)
  }

  /** Why it was decided so: every policy and rule considered, as of the decision. @throws ApiError not_found */
  async explanation(id: string, options?: CallOptions): Promise<DecisionExplanation> {
    return (await this.#requester.send({
      method: 'GET',
      path: path`/v1/decisions/${id}/explanation`,
      options,
    })) as DecisionExplanation
  }

  /**
   * The action happened. `amount` is what was really spent; without it each budget keeps what it reserved. Again with the
   * same amount it changes nothing, so a call whose outcome is not known can simply be made again.
   *
   * @throws ApiError validation_failed, permit_redeemed, not_found, invalid_transition
   */
  async confirm(id: string, confirmation: Confirm = {}, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(id, path`/v1/decisions/${id}/confirm`, confirmation, options)
  }

  /**
   * The action did not happen, or a reviewed one shall not: what was reserved is free again. Not for an action that may
   * have happened. Again it changes nothing.
   *
   * @throws ApiError validation_failed, permit_redeemed, not_found, invalid_transition
   */
  async reject(id: string, rejection: Reject = {}, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(id, path`/v1/decisions/${id}/reject`, rejection, options)
  }

  /**
   * Corrects what the caller confirmed or rejected. For an operator, with another key than the one that asked.
   *
   * @throws ApiError validation_failed, insufficient_scope, not_found, invalid_transition
   */
  async correct(id: string, correction: Correct, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(id, path`/v1/decisions/${id}/correct`, correction, options)
  }

  /**
   * A person says yes to a review: it is decided again by the policies of now, and its budgets are reserved.
   *
   * @throws ApiError self_approval, not_found, agent_suspended, invalid_transition, policy_denies, budget_exceeded
   */
  async approve(id: string, approval: Approve = {}, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(id, path`/v1/decisions/${id}/approve`, approval, options)
  }

  /** A person says no to a review. @throws ApiError self_approval, not_found, invalid_transition */
  async decline(id: string, declining: Decline = {}, options?: IdempotentCallOptions): Promise<Decision> {
    return this.#transition(id, path`/v1/decisions/${id}/decline`, declining, options)
  }

  /**
   * Takes an approved decision to run it, once: the answer has the permit. `holder` is random unless given, the same on
   * each retry. Look before acting, by `isPermitted`; `waitForReview` does all of it.
   *
   * @throws ApiError not_asker, not_found, already_claimed, agent_suspended, invalid_transition, policy_denies
   */
  async claim(id: string, claim: Claim = {}, options?: IdempotentCallOptions): Promise<Decision> {
    const body = { ...claim, holder: holderOf(claim.holder ?? crypto.randomUUID()) }
    return this.#transition(id, path`/v1/decisions/${id}/claim`, body, options)
  }

  /**
   * Waits until a person has answered the review of a decision, takes the decision when it was approved, and resolves with
   * it and its permit. It resolves for nothing else: what follows it may run.
   *
   * Takes the answer of `authorize`, or an id that was kept. A decision that needed no review is returned as it is.
   * After a restart the same holder gets the same permit. While the decision point is away it is asked again.
   *
   * @throws NotPermittedError when the action must not run: `reason` says whether it was declined, withdrawn, …
   * @throws UnavailableError (`timeout`) after the time limit; the review goes on, and you can wait for it again
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

  async #transition(
    id: string,
    to: string,
    body: object,
    options: IdempotentCallOptions | undefined,
  ): Promise<Decision> {
    const idempotencyKey = options?.idempotencyKey ?? true
    const answer = await this.#requester.send({ method: 'POST', path: to, body, idempotencyKey, options })
    return readDecisionOf(`POST ${to}`, answer, id)
  }
}
