import { ApiError } from '../../errors/api-error.js'
import type { CallOptions } from '../../options.js'
import type { Decisions } from '../../resources/decisions.js'
import type { Decision, DecisionDetail } from '../../wire.js'
import type { RepeatableCall } from './repeatable-call.js'

/** A review that a call without an idempotency key has left behind. A repeat of the call can take it up. */
export interface LeftReview {
  readonly id: string
  /** The holder that claims it. */
  readonly holder: string
  /** In milliseconds since 1970. */
  readonly endsAtMs: number
}

export function leftReview({ id, expires_at }: Decision, holder: string): LeftReview {
  return { id, holder, endsAtMs: Date.parse(expires_at) }
}

/** The limit of the decision point for open reviews of one API key. */
const MOST = 1_000

/**
 * The reviews that calls of one client have left behind, by question: those of this process, and those of earlier processes,
 * which the decision point lists. No call takes up a review that another call waits for: two equal waiting calls are two reviews.
 */
export class LeftReviews {
  readonly #decisions: Pick<Decisions, 'list'>
  readonly #left = new Map<string, LeftReview>()
  readonly #waitedFor = new Set<string>()
  #mayList = true

  constructor(decisions: Pick<Decisions, 'list'>) {
    this.#decisions = decisions
  }

  /** True for most calls: they have no review to look for. */
  get isEmpty(): boolean {
    return this.#left.size === 0
  }

  of(question: string, nowMs: number): LeftReview | undefined {
    const review = this.#left.get(question)
    if (review === undefined || review.endsAtMs > nowMs) return review
    this.#left.delete(question)
    return undefined
  }

  /** The first review of a question stays until it ends. If there are too many, the oldest is forgotten. */
  leave(question: string, review: LeftReview): void {
    if (this.#left.has(question)) return
    const [oldest] = this.#left.keys()
    if (this.#left.size >= MOST && oldest !== undefined) this.#left.delete(oldest)
    this.#left.set(question, review)
  }

  forget(question: string, id: string): void {
    if (this.#left.get(question)?.id === id) this.#left.delete(question)
  }

  /** During the work, no other call takes the review up. */
  async whileWaitingFor<Result>(question: string, id: string, work: () => Promise<Result>): Promise<Result> {
    this.forget(question, id)
    this.#waitedFor.add(id)
    try {
      return await work()
    } finally {
      this.#waitedFor.delete(id)
    }
  }

  /**
   * An open review from an earlier process, of the same call, agent and API key as the decision, that no call waits for: an
   * approved one, else the first that was asked for before the decision. This needs the scope `decisions:read`. Undefined
   * without it, and if the decision point does not answer.
   */
  async before(
    { id, agent_id }: Decision,
    repeatable: RepeatableCall,
    options: CallOptions,
  ): Promise<DecisionDetail | undefined> {
    const { request_hash } = repeatable
    const open = async (status: 'approved' | 'awaiting_review'): Promise<readonly DecisionDetail[]> =>
      (await this.#decisions.list({ agent_id, request_hash, status, limit: 200 }, options).page()).data
    if (!this.#mayList) return undefined
    try {
      const [waiting, approved] = await Promise.all([open('awaiting_review'), open('approved')])
      const key_id = waiting.find((one) => one.id === id)?.key_id
      const isOfOurs = (one: DecisionDetail): boolean =>
        one.key_id === key_id &&
        one.request_hash === request_hash &&
        repeatable.isRequestId(one.request_id) &&
        !this.#waitedFor.has(one.id)
      // Ids sort by time.
      const [first] = [
        ...approved.filter(isOfOurs).sort(byId),
        ...waiting.filter((one) => isOfOurs(one) && one.id < id).sort(byId),
      ]
      return first
    } catch (error) {
      if (ApiError.isInstance(error) && error.code === 'insufficient_scope') this.#mayList = false
      return undefined
    }
  }
}

function byId(one: DecisionDetail, other: DecisionDetail): number {
  return one.id < other.id ? -1 : 1
}
