/** Turns a received answer into a value or one of the two errors, and trusts none of its content. */
import { ApiError } from './errors/api-error.js'
import { UnavailableError } from './errors/unavailable-error.js'
import { parseRetryAfter } from './retry.js'
import type { TransportAnswer } from './transport.js'
import type { FieldError } from './wire.js'

type JsonRecord = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the JSON object of a 2xx answer; undefined for 204.
 *
 * `call` names the call in messages, such as `POST /v1/decisions`.
 *
 * @throws ApiError when the answer is a problem document
 * @throws UnavailableError (`bad_answer`) for any other answer
 */
export function readAnswer(call: string, answer: TransportAnswer): unknown {
  if (answer.status === 204) return undefined
  const body = parseJson(answer.body)
  if (answer.status >= 200 && answer.status < 300) {
    if (isRecord(body)) return body
    throw badAnswer(call, answer, 'the answer is not a JSON object')
  }
  if (answer.status >= 400 && isRecord(body) && typeof body.code === 'string') {
    throw toApiError(call, answer, body, body.code)
  }
  const isRedirect = answer.status === 0 || (answer.status >= 300 && answer.status < 400)
  throw badAnswer(call, answer, isRedirect ? 'redirects are not followed' : 'the answer is not a problem document')
}

// Sets no cause: the message of a SyntaxError quotes the text, which may contain a permit or a key.
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}

function badAnswer(call: string, { status }: TransportAnswer, what: string): UnavailableError {
  return new UnavailableError('bad_answer', `${call}: ${what} (status ${status})`, { status })
}

function toApiError(call: string, answer: TransportAnswer, problem: JsonRecord, code: string): ApiError {
  return new ApiError(call, {
    status: answer.status,
    code,
    title: textOr(problem.title, ''),
    detail: textOr(problem.detail, ''),
    request_id: textOr(problem.request_id, answer.header('x-request-id')),
    errors: Array.isArray(problem.errors) ? problem.errors.filter(isFieldError) : [],
    current_status: textOr(problem.current_status, null),
    retryAfterSeconds: parseRetryAfter(answer.header('retry-after')),
  })
}

function textOr<Fallback>(value: unknown, fallback: Fallback): string | Fallback {
  return typeof value === 'string' ? value : fallback
}

function isFieldError(value: unknown): value is FieldError {
  return isRecord(value) && typeof value.pointer === 'string' && typeof value.detail === 'string'
}
