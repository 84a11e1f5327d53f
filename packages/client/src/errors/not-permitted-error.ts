import { CountersignError, errorFamily } from './countersign-error.js'
import { refusalMessage } from './refusal-sentences.js'

const FAMILY = 'NotPermittedError'

/**
 * - `denied`: by policy, there was nothing to wait for;
 * - `declined`: a person declined it;
 * - `withdrawn`: the caller withdrew it before it ran;
 * - `expired`: nobody answered in time, or nobody claimed it in time;
 * - `settled`: it was confirmed or rejected already;
 * - `not_reviewed`: it needed no review, and belongs to the holder that asked;
 * - `already_claimed`: another holder runs it;
 * - `permit_already_used`: it was redeemed;
 * - `policy_denies`: it was approved, and the present policies deny it;
 * - `agent_suspended`: it was approved, and the agent is suspended.
 */
export type NotPermittedReason =
  | 'denied'
  | 'declined'
  | 'withdrawn'
  | 'expired'
  | 'settled'
  | 'not_reviewed'
  | 'already_claimed'
  | 'permit_already_used'
  | 'policy_denies'
  | 'agent_suspended'

/** What an error has in addition to the reason. */
export interface NotPermittedFields {
  /** What the person wrote. */
  readonly comment?: string | null | undefined
  readonly cause?: unknown
}

/**
 * Waiting for a review came to an end, and the action must not run.
 *
 * `cause` is the ApiError where the decision point refused the claim. Source: docs/sdk.md "Wait for a review".
 */
export class NotPermittedError extends CountersignError {
  readonly reason: NotPermittedReason
  readonly decision_id: string
  /** What the person wrote who answered the review; null when nobody did. */
  readonly comment: string | null

  constructor(decision_id: string, reason: NotPermittedReason, { comment, ...rest }: NotPermittedFields = {}) {
    super(FAMILY, refusalMessage(reason, { decision_id }), 'cause' in rest ? { cause: rest.cause } : undefined)
    this.reason = reason
    this.decision_id = decision_id
    this.comment = comment ?? null
  }

  static override isInstance(value: unknown): value is NotPermittedError {
    return errorFamily(value) === FAMILY
  }
}
