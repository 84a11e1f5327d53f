import { ApiError } from '../errors/api-error.js'
import type { CallOptions } from '../options.js'
import type { Pages } from '../pages.js'
import type { DecisionQuery } from '../resources/decisions.js'
import type { Decision, DecisionDetail } from '../wire.js'
import type { RepeatableCall } from './repeatable-call.js'

/** The one call that looking is made of. */
export interface ListCalls {
  list(query: DecisionQuery, options: CallOptions): Pages<DecisionDetail>
}

/**
 * Finds the review that an earlier process has left behind. It needs the scope `decisions:read`; without it, and whenever
 * the decision point does not answer, there is none.
 */
export class OlderReviews {
  readonly #calls: ListCalls
  #isAllowed = true

  constructor(calls: ListCalls) {
    this.#calls = calls
  }

  /**
   * An open review of the same call, agent and API key as a decision: one that is approved, else the first that was asked for
   * before it. Undefined when there is none.
   *
   * @param isFree whether a review may be taken up, by its id
   */
  async before(
    decision: Decision,
    repeatable: RepeatableCall,
    isFree: (id: string) => boolean,
    options: CallOptions,
  ): Promise<DecisionDetail | undefined> {
    const { id, agent_id } = decision
    const { request_hash } = repeatable
    const open = async (status: 'approved' | 'awaiting_review'): Promise<readonly DecisionDetail[]> => {
      const query = { agent_id, request_hash, status, limit: 200 }
      return (await this.#calls.list(query, options).page()).data
    }
    if (!this.#isAllowed) return undefined
    try {
      const [waiting, approved] = await Promise.all([open('awaiting_review'), open('approved')])
      const key_id = waiting.find((one) => one.id === id)?.key_id
      const isOfOurs = (one: DecisionDetail): boolean =>
        one.key_id === key_id &&
        one.request_hash === request_hash &&
        repeatable.isRequestId(one.request_id) &&
        isFree(one.id)
      // Ids are in the order of time.
      const [first] = [
        ...approved.filter(isOfOurs).sort(byId),
        ...waiting.filter((one) => isOfOurs(one) && one.id < id).sort(byId),
      ]
      return first
    } catch (error) {
      if (ApiError.isInstance(error) && error.code === 'insufficient_scope') this.#isAllowed = false
      return undefined
    }
  }
}

function byId(one: DecisionDetail, other: DecisionDetail): number {
  return one.id < other.id ? -1 : 1
}
