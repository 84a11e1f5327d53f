import type { IncomingHttpHeaders } from 'node:http'
import { type Json, validate } from '@countersign/contract'
import type { OperationBody } from '@countersign/contract/operations'
import { parseStrictJson } from '@countersign/contract/strict-json'
import { DomainError, invalid } from '../domain-error.js'

/** Reads the body; null when it is larger than `maxBytes`. */
export type BodySource = (maxBytes: number) => Promise<Uint8Array | null>

/**
 * Reads, parses and validates the body of a request.
 *
 * @throws DomainError unsupported_media_type, body_too_large, malformed_json, validation_failed
 */
export async function readBody(
  body: OperationBody,
  headers: IncomingHttpHeaders,
  source: BodySource,
): Promise<unknown> {
  const isEmpty = headers['content-length'] === '0' || !hasBody(headers)
  if (!isEmpty || headers['content-type'] !== undefined) assertPlainJson(headers)
  if (Number(headers['content-length'] ?? 0) > body.maxBytes) throw new DomainError('body_too_large')
  const bytes = isEmpty ? new Uint8Array() : await source(body.maxBytes)
  if (bytes === null) throw new DomainError('body_too_large')
  const checked = validate(body.schema, parse(bytes, body))
  if (!checked.ok) throw invalid(checked.errors)
  return checked.value
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

function assertPlainJson(headers: IncomingHttpHeaders): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined)
    throw new DomainError('unsupported_media_type', { detail: '`Content-Encoding` is not supported.' })
  if (!/^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i.test(headers['content-type'] ?? ''))
    throw new DomainError('unsupported_media_type')
}

function parse(bytes: Uint8Array, body: OperationBody): Json {
  if (bytes.length === 0 && body.mayBeEmpty === true) return {}
  const parsed = parseStrictJson(bytes, body)
  if (!parsed.ok) throw new DomainError('malformed_json', { detail: parsed.detail })
  return parsed.value
}
