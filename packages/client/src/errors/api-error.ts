import type { ErrorCode, FieldError } from '../wire.js'
import { CountersignError, errorFamily } from './countersign-error.js'
import { printable } from './printable.js'

const FAMILY = 'ApiError'

/** The content of a problem document and its headers. */
export interface ApiErrorFields {
  readonly status: number
  readonly code: ErrorCode | (string & {})
  readonly title: string
  readonly detail: string
  readonly request_id: string | null
  readonly errors: readonly FieldError[]
  readonly current_status: string | null
  readonly retryAfterSeconds: number | null
}

/**
 * The decision point answered with a problem (RFC 9457): nothing was permitted.
 *
 * The message names the first faulty place of the request, and is always a single line. A deny is not an error: it is a
 * decision. Statuses 429, 502, 503 and 504 were retried before this was thrown. Source: docs/sdk.md "Errors".
 */
export class ApiError extends CountersignError implements ApiErrorFields {
  /** HTTP status. */
  readonly status: number
  /** Stable code of the error catalogue; a newer server may know more codes than this SDK. */
  readonly code: ErrorCode | (string & {})
  readonly title: string
  readonly detail: string
  /** Quote it to the operator; null when the answer had none. */
  readonly request_id: string | null
  /** Every faulty place of the request, for `validation_failed`; otherwise empty. */
  readonly errors: readonly FieldError[]
  /** The decision's present status, for `invalid_transition`; otherwise null. */
  readonly current_status: string | null
  /** Seconds to wait before asking again; null when the server did not say. */
  readonly retryAfterSeconds: number | null

  constructor(call: string, fields: ApiErrorFields) {
    super(FAMILY, printable(`${call}: ${fields.status} ${fields.code}: ${faultIn(fields)}`))
    this.status = fields.status
    this.code = fields.code
    this.title = fields.title
    this.detail = fields.detail
    this.request_id = fields.request_id
    this.errors = fields.errors
    this.current_status = fields.current_status
    this.retryAfterSeconds = fields.retryAfterSeconds
  }

  static override isInstance(value: unknown): value is ApiError {
    return errorFamily(value) === FAMILY
  }
}

function faultIn({ errors: [first, ...more], detail, title }: ApiErrorFields): string {
  if (first === undefined) return detail || title
  const rest = more.length === 0 ? '' : ` (and ${more.length} ${more.length === 1 ? 'place' : 'places'} more)`
  return `${first.pointer || 'the body'} ${first.detail}${rest}`
}
