import type { Advice } from '../wire.js'
import { CountersignError, errorFamily } from './countersign-error.js'
import type { DeniedReason } from './refusal-reason.js'
import { refusalMessage } from './refusal-sentences.js'
import { reviewerWords } from './reviewer-words.js'

const FAMILY = 'DeniedError'

/** The fields of an error besides its reason. */
export interface DeniedFields {
  /** A sentence for the caller that replaces the one of the reason, where it can name the fault. */
  readonly detail?: string | undefined
  readonly decision_id?: string | null | undefined
  readonly advice?: Advice | null | undefined
  /** The comment of the person who answered the review. */
  readonly comment?: string | null | undefined
  readonly retryAfterSeconds?: number | null | undefined
  readonly cause?: unknown
}

/**
 * An enforcement point stopped an action: it has not run.
 *
 * Message and fields can be shown to a model or a caller: they say what happened and what to do next, with the reason
 * and the decision's id, and contain neither permit nor policy. `cause` is only for the operator's log. Source:
 * docs/enforcement.md "Refusals".
 */
export class DeniedError extends CountersignError {
  readonly reason: DeniedReason
  /** Null when no decision is known. */
  readonly decision_id: string | null
  /** Names the fault, in a sentence for the caller; null when the sentence of the reason is enough. */
  readonly detail: string | null
  /** What a program or a model may do now, without policy internals; null when there is no advice. */
  readonly advice: Advice | null
  /** The comment of the person who answered the review, unchanged: untrusted text. Null without a comment. */
  readonly comment: string | null
  /** Seconds after which asking again may help; null when the decision point did not say. */
  readonly retryAfterSeconds: number | null

  constructor(reason: DeniedReason, fields: DeniedFields = {}) {
    const { detail, decision_id, advice, comment, retryAfterSeconds, ...rest } = fields
    const words = reviewerWords(comment)
    const message = refusalMessage(reason, { decision_id, advice: advice?.message ?? detail, words })
    super(FAMILY, message, rest)
    this.reason = reason
    this.decision_id = decision_id ?? null
    this.detail = detail ?? null
    this.advice = advice ?? null
    this.comment = comment ?? null
    this.retryAfterSeconds = retryAfterSeconds ?? null
  }

  static override isInstance(value: unknown): value is DeniedError {
    return errorFamily(value) === FAMILY
  }
}
