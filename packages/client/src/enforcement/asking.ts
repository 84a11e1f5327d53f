/** What asking is made of. */
import type { AuthorizeRequest } from '../authorize-request.js'
import type { CallOptions } from '../options.js'
import type { ReviewWaitOptions } from '../resources/decisions.js'
import type { Decision, DecisionDetail } from '../wire.js'
import type { AdmitOptions } from './admission.js'
import type { Asked, GuardRequest } from './arguments/asked.js'
import type { OlderReviews } from './older-reviews.js'
import type { PendingReviews } from './pending-reviews.js'
import type { RepeatableCall } from './repeatable-call.js'
import type { Settling } from './settlement/settler.js'

/** The calls that asking is made of. */
export interface AskingCalls extends Settling {
  /** The agent that is asked for. @throws TypeError for another one than the client's own, or none at all */
  agentOf(agent_id: string | undefined): string
  /**
   * @param lateMs how long an answer is still taken after the time limit, in milliseconds
   * @param requestId names the call; default: none
   */
  authorize(request: AuthorizeRequest, lateMs: number, requestId: string | undefined): Promise<Decision>
  decision(id: string, options: CallOptions): Promise<DecisionDetail>
  waitForReview(decision: Decision, options: ReviewWaitOptions): Promise<Decision>
  redeem(permit_token: string, options: { readonly timeoutMs: number }): Promise<Decision>
  /** Time limit of a call, in milliseconds. */
  readonly timeoutMs: number
  readonly pendingReviews: PendingReviews
  readonly olderReviews: OlderReviews
}

/** A question and what steers the asking. */
export interface Asking {
  readonly options: AdmitOptions
  request(): GuardRequest
}

/** The question, read once and frozen. */
export interface Question {
  readonly asked: Asked
  readonly options: AdmitOptions
}

/** A question, by whom it is asked and claimed. */
export interface AskedCall extends Question {
  readonly holder: string
  readonly claimHolder: string
  /** Of a call without an idempotency key: a repeat of it takes up the review that it leaves behind. */
  readonly repeatable: RepeatableCall | undefined
}
