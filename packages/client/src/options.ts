import { type Elsewhere, knownOptionsOfClass } from './option-check.js'
import type { DecisionRequest } from './wire.js'

/** How to reach the decision point. Every member may be omitted when the environment provides it. */
export interface CountersignOptions {
  /** Default: `COUNTERSIGN_URL`, else `http://127.0.0.1:8787`. A path prefix is kept. */
  readonly baseUrl?: string | undefined
  /** Default: `COUNTERSIGN_API_KEY`. One of the two is required. */
  readonly apiKey?: string | undefined
  /** The only agent that `authorize` asks for. Default: `COUNTERSIGN_AGENT_ID`; without either, each call names its agent. */
  readonly agentId?: string | undefined
  /** Time limit of a whole call, retries and waiting included, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number | undefined
  /** Time limit of one TCP and TLS connect in milliseconds, on Node only. Default 1,000. */
  readonly connectTimeoutMs?: number | undefined
  /** Further attempts after the first, 0 to 10. Default 2. */
  readonly maxRetries?: number | undefined
  /** Sent with every request, for a proxy or for tracing. The headers of the API itself cannot be set. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Options of one call; part of every method's last argument. */
export interface CallOptions {
  /** Ends the call immediately; the promise rejects with the signal's reason. */
  readonly signal?: CallSignal | undefined
  /** Replaces the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined
}

/** Options of calls that create or change something. */
export interface IdempotentCallOptions extends CallOptions {
  /**
   * The same key with the same body gives the same object. `Countersign` sends the hash of a key that is not 1 to 255
   * visible ASCII characters; `DecisionClient` refuses it. Default: random per call.
   */
  readonly idempotencyKey?: string | undefined
}

/** The question with the options of the call: snake_case members are sent, camelCase members are not. */
export interface AuthorizeRequest extends Omit<DecisionRequest, 'agent_id'>, IdempotentCallOptions {
  /** Default: the client's `agentId`; any other agent is refused. Required when the client has none. */
  readonly agent_id?: string | undefined
}

/**
 * The part of an `AbortSignal` that the SDK uses, spelled out so that these types need neither DOM nor Node
 * declarations.
 */
export interface CallSignal {
  readonly aborted: boolean
  readonly reason?: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export interface Settings {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly agentId: string | undefined
  readonly timeoutMs: number
  readonly connectTimeoutMs: number
  readonly maxRetries: number
  readonly headers: Readonly<Record<string, string>>
}

type Environment = Readonly<Record<string, string | undefined>>

const KNOWN_OPTIONS = [
  'baseUrl',
  'apiKey',
  'agentId',
  'timeoutMs',
  'connectTimeoutMs',
  'maxRetries',
  'headers',
] as const satisfies readonly (keyof CountersignOptions)[]
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'idempotency-key',
  'if-match',
  'last-event-id',
  'transfer-encoding',
])
const VISIBLE_ASCII = /^[\x21-\x7e]+$/
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e]*$/
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/**
 * Fills in defaults from the environment and the built-in ones. An empty variable counts as absent.
 *
 * @param of the class that the options belong to
 * @param elsewhere where options belong that are not those of a client
 * @throws TypeError naming the faulty option, never showing an API key or a header's value
 */
export function resolveOptions(
  of: string,
  given: CountersignOptions,
  elsewhere: Elsewhere = {},
  environment: Environment = globalThis.process?.env ?? {},
): Settings {
  const options = knownOptionsOfClass(of, given, KNOWN_OPTIONS, elsewhere)
  return {
    baseUrl: checkBaseUrl(options.baseUrl ?? (environment.COUNTERSIGN_URL || 'http://127.0.0.1:8787')),
    apiKey: checkApiKey(options.apiKey ?? environment.COUNTERSIGN_API_KEY),
    agentId: checkAgentId(options.agentId ?? (environment.COUNTERSIGN_AGENT_ID || undefined)),
    timeoutMs: checkTimeout('timeoutMs', options.timeoutMs ?? 5_000),
    connectTimeoutMs: checkTimeout('connectTimeoutMs', options.connectTimeoutMs ?? 1_000),
    maxRetries: checkMaxRetries(options.maxRetries ?? 2),
    headers: checkHeaders(options.headers ?? {}),
  }
}

/** @throws TypeError naming the option */
export function checkTimeout(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= MAX_TIMEOUT_MS) return value
  throw new TypeError(`${name} must be a number of milliseconds above 0 and up to ${MAX_TIMEOUT_MS}`)
}

function checkBaseUrl(value: unknown): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new TypeError('baseUrl (or COUNTERSIGN_URL) must be an absolute http: or https: URL')
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('baseUrl (or COUNTERSIGN_URL) can have neither credentials nor a query nor a fragment')
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function checkApiKey(value: unknown): string {
  if (value === undefined || value === '') throw new TypeError('apiKey is missing: pass it or set COUNTERSIGN_API_KEY')
  if (typeof value === 'string' && VISIBLE_ASCII.test(value)) return value
  throw new TypeError('apiKey (or COUNTERSIGN_API_KEY) must be visible ASCII characters')
}

function checkAgentId(value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw new TypeError('agentId must be a string that is not empty')
}

function checkMaxRetries(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 10) return value
  throw new TypeError('maxRetries must be an integer from 0 to 10')
}

function checkHeaders(headers: unknown): Readonly<Record<string, string>> {
  if (typeof headers !== 'object' || headers === null) throw new TypeError('headers must be an object of strings')
  const checked: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) throw new TypeError('headers has a name that is not a valid HTTP header')
    if (OWN_HEADERS.has(name.toLowerCase())) throw new TypeError(`headers cannot set ${name}: the client does`)
    if (typeof value !== 'string' || !HEADER_VALUE.test(value)) {
      throw new TypeError(`headers.${name} must be a string of printable ASCII`)
    }
    checked[name.toLowerCase()] = value
  }
  return checked
}
