import { reviewerWords } from '@countersign/client/text'
import { ROUTE_SENTENCES, type RouteDeniedCode } from './refusal-sentences.js'

const BRAND = Symbol.for('countersign.RouteDeniedError')

/** Advice for a program or a model, without policy internals. */
export type Advice = NonNullable<import('@countersign/client').DeniedError['advice']>

/** The answer for the caller, as `application/problem+json` (RFC 9457). */
export interface RouteProblem {
  readonly type: 'about:blank'
  readonly title: string
  readonly status: number
  /** What happened and what to do next. */
  readonly detail: string
  readonly code: RouteDeniedCode
  /** Absent when no decision is known. */
  readonly decision_id?: string
  /** Absent when there is none. */
  readonly advice?: Advice
  /** The comment of the person who answered the review, unchanged: untrusted text. Absent without a comment. */
  readonly comment?: string
}

interface RouteDeniedFields {
  readonly code: RouteDeniedCode
  readonly status: RouteDeniedStatus
  /** Default: the sentence of the code. */
  readonly detail?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly decision_id?: string | null
  readonly advice?: Advice | null
  readonly comment?: string | null
  readonly cause?: unknown
}

const TITLES = {
  401: 'Unauthorized',
  403: 'Forbidden',
  422: 'Unprocessable Content',
  503: 'Service Unavailable',
} as const
export type RouteDeniedStatus = keyof typeof TITLES

/**
 * A route did not run; the error contains the answer. Express' own error handler answers with its `status` and
 * `headers`; `permitErrors()` with the whole problem.
 *
 * Message and fields can be shown to the caller: they say what happened and what to do next, and contain neither permit
 * nor policy. `cause` is for the operator's log. Source: docs/express.md "Refusals".
 */
export class RouteDeniedError extends Error {
  override readonly name = 'RouteDeniedError'
  readonly [BRAND] = true
  readonly code: RouteDeniedCode
  readonly status: RouteDeniedStatus
  readonly headers: Readonly<Record<string, string>>
  /** Null when no decision is known. */
  readonly decision_id: string | null
  readonly advice: Advice | null
  /** The comment of the person who answered the review, unchanged: untrusted text. Null without a comment. */
  readonly comment: string | null
  readonly #detail: string

  constructor(fields: RouteDeniedFields) {
    const { code, status, headers = {}, decision_id = null, advice = null, comment = null, cause } = fields
    const words = reviewerWords(comment)
    const happened = advice?.message ?? fields.detail ?? ROUTE_SENTENCES[code]
    const detail = words === null ? happened : `${happened} ${words}`
    const about = decision_id === null ? '' : `, decision ${decision_id}`
    super(`${detail} (${code}${about})`, cause === undefined ? undefined : { cause })
    this.#detail = detail
    // It is always thrown here. Outside of production Express shows the stack to the caller.
    this.stack = `${this.name}: ${this.message}`
    this.code = code
    this.status = status
    this.headers = headers
    this.decision_id = decision_id
    this.advice = advice
    this.comment = comment
  }

  toProblem(): RouteProblem {
    const { code, status, decision_id, advice, comment } = this
    return {
      type: 'about:blank',
      title: TITLES[status],
      status,
      detail: this.#detail,
      code,
      ...(decision_id === null ? {} : { decision_id }),
      ...(advice === null ? {} : { advice }),
      ...(comment === null ? {} : { comment }),
    }
  }

  /** True for an error of any installed copy of this package. */
  static isInstance(value: unknown): value is RouteDeniedError {
    return typeof value === 'object' && value !== null && BRAND in value
  }
}
