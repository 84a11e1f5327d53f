import { WebhookVerificationError } from '../errors/webhook-verification-error.js'

/**
 * The headers of a request: a `Headers`, or a plain object with names in any case, such as `req.headers` of Node. Spelled out so
 * that these types need neither DOM nor Node declarations.
 */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }

export interface SignedHeaders {
  readonly id: string
  /** As it was sent, because the signature covers these digits. */
  readonly timestamp: string
  readonly signature: string
}

/** Excludes the dot, which separates the signed parts, and the comma, which joins a repeated header. */
const ID = /^[\w-]{1,128}$/
const DIGITS = /^(?:0|[1-9]\d{0,11})$/

/** @throws WebhookVerificationError; TypeError for a value that is not a set of headers */
export function readSignedHeaders(headers: unknown): SignedHeaders {
  const read = readerOf(headers)
  const [id, timestamp, signature] = [read('webhook-id'), read('webhook-timestamp'), read('webhook-signature')]
  if (!ID.test(id)) {
    throw new WebhookVerificationError('id_invalid', 'webhook-id must be 1 to 128 letters, digits, _ or -.')
  }
  if (!DIGITS.test(timestamp)) {
    throw new WebhookVerificationError('timestamp_invalid', 'webhook-timestamp must be digits only.')
  }
  return { id, timestamp, signature }
}

function readerOf(headers: unknown): (name: string) => string {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw new TypeError('headers must be a Headers or a plain object')
  }
  const { get } = headers as { get?: unknown }
  if (typeof get === 'function') return (name) => onlyValue(name, [get.call(headers, name)])
  return (name) =>
    onlyValue(
      name,
      Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : [])),
    )
}

function onlyValue(name: string, values: readonly unknown[]): string {
  const [value, ...more] = values.filter((one) => one !== undefined && one !== null)
  // Node and Headers join a repeated header with a comma and a space; our values contain neither.
  if (more.length > 0 || Array.isArray(value) || (typeof value === 'string' && value.includes(', '))) {
    throw new WebhookVerificationError('header_duplicate', `${name} may occur only once.`)
  }
  if (typeof value !== 'string' || value === '') {
    throw new WebhookVerificationError('header_missing', `${name} is missing.`)
  }
  return value
}
