import type { CallOptions } from './options.js'

export type Query = Readonly<Record<string, string | number | undefined>>

/** One call of the API, without base address, key, retries and time limit. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Percent-encoded by `pathOf` below. */
  readonly path: string
  readonly query?: Query | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** For calls that create or change something: a given key, or true for a random one. */
  readonly idempotencyKey?: string | true | undefined
  /** False for endpoints without an API key: a key that is not needed is not sent. */
  readonly isAuthenticated?: boolean
  /** The extra time that the server may take, because it was asked to wait. */
  readonly extraTimeMs?: number | undefined
  /** How long after the time limit an answer is still accepted; nothing is retried then. */
  readonly lateMs?: number | undefined
  readonly options: CallOptions | undefined
}

/** Returns the name of a call for messages: `GET /v1/agents/agent%3Asupport-7`. */
export function nameOf({ method, path }: Pick<Call, 'method' | 'path'>): string {
  return `${method} ${path}`
}

/**
 * Fills the parameters of a template such as `/v1/agents/{id}`, percent-encoded.
 *
 * @throws TypeError for a value that would name another endpoint: not a string, empty, `.` or `..`
 */
export function pathOf(template: string, params: Readonly<Record<string, unknown>> = {}): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (typeof value !== 'string') throw new TypeError(`${name} of ${template} must be a string`)
    if (['', '.', '..'].includes(value))
      throw new TypeError(
        `${name} of ${template} cannot be ${JSON.stringify(value)}: the path would name another endpoint`,
      )
    return encodeURIComponent(value)
  })
}

/** Returns `?a=1&b=2` without undefined members; empty when none is left. */
export function queryString(query: Query = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string | number] => entry[1] !== undefined)
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}
