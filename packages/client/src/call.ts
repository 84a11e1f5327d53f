import type { CallOptions } from './options.js'

export type Query = Readonly<Record<string, string | number | undefined>>

/** One call of the API, before it knows of base address, key, retries and time. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Percent-encoded, from `path` below. */
  readonly path: string
  readonly query?: Query | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** For calls that create or change something: a given key, or true for a random one. */
  readonly idempotencyKey?: string | true | undefined
  /** False for endpoints that ask for no API key: what is not needed is not sent. */
  readonly isAuthenticated?: boolean
  /** What the server may take on top of the time limit, because it was asked to wait. */
  readonly extraTimeMs?: number | undefined
  /** How long an answer is still taken after the time limit, when nothing is tried anew any more. */
  readonly lateMs?: number | undefined
  readonly options: CallOptions | undefined
}

/**
 * A path whose values are percent-encoded: path`/v1/agents/${agentId}`.
 *
 * @throws TypeError for a value that would name another endpoint: not a string, empty, `.` or `..`
 */
export function path(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return values.reduce((built, value, index) => {
    if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
      throw new TypeError(`an id is missing: ${texts.join('{id}')} needs a string that is not empty`)
    }
    return built + encodeURIComponent(value) + texts[index + 1]
  }, texts[0] ?? '')
}

/** `?a=1&b=2` without the members that are undefined; empty when none is left. */
export function queryString(query: Query = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string | number] => entry[1] !== undefined)
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}
