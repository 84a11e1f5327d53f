import { CountersignError, errorFamily } from './countersign-error.js'
import { forCaller, NOT_PERMITTED, withReason } from './not-permitted-sentences.js'
import type { NotPermittedReason } from './refusal-reason.js'

const FAMILY = 'NotPermittedError'

/** The fields of an error besides its reason. */
export interface NotPermittedFields {
  /** The person's comment. */
  readonly comment?: string | null | undefined
  readonly cause?: unknown
}

/**
 * The wait for a review has ended, and the action must not run.
 *
 * `cause` is the ApiError where the decision point refused the claim. Source: docs/sdk.md "Wait for a review".
 */
export class NotPermittedError extends CountersignError {
  readonly reason: NotPermittedReason
  readonly decision_id: string
  /** The comment of the person who answered the review; null without one. */
  readonly comment: string | null

  constructor(decision_id: string, reason: NotPermittedReason, { comment, ...rest }: NotPermittedFields = {}) {
    const message = withReason(forCaller(NOT_PERMITTED[reason]), reason, decision_id)
    super(FAMILY, message, rest)
    this.reason = reason
    this.decision_id = decision_id
    this.comment = comment ?? null
  }

  static override isInstance(value: unknown): value is NotPermittedError {
    return errorFamily(value) === FAMILY
  }
}
