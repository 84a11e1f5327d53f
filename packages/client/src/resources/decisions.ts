import { path } from '../call.js'
import { readDecision } from '../decision-answer.js'
import type { CallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import type { DecisionDetail, DecisionExplanation, DecisionStatus, Effect } from '../wire.js'

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

/** Decisions that were made; `client.authorize` makes one. Source: docs/sdk.md "Methods". */
export class Decisions {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
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
    return readDecision(`GET ${to}`, answer) as DecisionDetail
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
}
