import type { DeniedReason } from '@countersign/client'
import type { PermitErrorCode } from '@countersign/permit'
import { ROUTE_SENTENCES } from './refusal-sentences.js'

const BRAND = Symbol.for('countersign.RouteDeniedError')

/**
 * Why a route did not run: what an enforcement point says, what the check of a permit says, and beside them
 * - `agent_missing`: nobody says which agent calls;
 * - `permit_missing`, `permit_ambiguous`: the request shows no permit, or more than one;
 * - `idempotency_key_reused`: the key came with another question before.
 */
export type RouteDeniedCode =
  | DeniedReason
  | PermitErrorCode
  | 'agent_missing'
  | 'permit_missing'
  | 'permit_ambiguous'
  | 'idempotency_key_reused'

/** Advice for a program or a model, without policy internals. */
export type Advice = NonNullable<import('@countersign/client').DeniedError['advice']>

/** What a caller is told, as `application/problem+json` (RFC 9457). */
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
}

interface RouteDeniedFields {
  readonly code: RouteDeniedCode
  readonly status: RouteDeniedStatus
  /** Default: the sentence of the code. */
  readonly detail?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly decision_id?: string | null
  readonly advice?: Advice | null
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
 * A route did not run, and what to answer. Express' own error handler answers with its `status` and `headers`;
 * `permitErrors()` with the whole problem.
 *
 * Message and fields can be shown to the caller: they say what happened and what to do next, and neither permit nor policy is in them. `cause` is for the operator's log.
 * Source: docs/express.md "Refusals".
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
  readonly #detail: string

  constructor(fields: RouteDeniedFields) {
    const { code, status, headers = {}, decision_id = null, advice = null, cause } = fields
    const detail = advice?.message ?? fields.detail ?? ROUTE_SENTENCES[code]
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
  }

  toProblem(): RouteProblem {
    const { code, status, decision_id, advice } = this
    return {
      type: 'about:blank',
      title: TITLES[status],
      status,
      detail: this.#detail,
      code,
      ...(decision_id === null ? {} : { decision_id }),
      ...(advice === null ? {} : { advice }),
    }
  }

  /** True for one of any installed copy of this package. */
  static isInstance(value: unknown): value is RouteDeniedError {
    return typeof value === 'object' && value !== null && BRAND in value
  }
}
