/** Sends the proxy's own HTTP requests to the upstream URL. */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { JsonRpcMessage } from '../../messages/json-rpc.js'
import type { Log } from '../operator.js'

/** A socket that is idle for longer is not used again. The other side may be closing it, and a call would be lost. */
const IDLE_SOCKET_MS = 1000

const TELLING_MS = 30_000

/** Headers of the client that are passed on, in addition to those that begin with `mcp-`. */
const PASSED_TO_SERVER = [
  'accept',
  'accept-language',
  'last-event-id',
  'user-agent',
  'traceparent',
  'tracestate',
  'baggage',
]

/** Headers of the server that are passed on. None of them leads a client past the proxy. */
const PASSED_TO_CLIENT = [
  'allow',
  'cache-control',
  'mcp-protocol-version',
  'retry-after',
  'www-authenticate',
  'x-accel-buffering',
]

export type Headers = Readonly<Record<string, string>>

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Headers
  readonly body?: string | undefined
  /** Ends the request and its answer. */
  readonly signal: AbortSignal
}

export class UpstreamEndpoint {
  readonly #url: URL
  readonly #credentials: Headers
  readonly #log: Pick<Log, 'warn'>
  readonly #agent: HttpAgent
  readonly #request: typeof requestHttp
  #trouble: string | undefined
  #isRefusalTold = false

  /** @throws TypeError for a URL that is not HTTP, or contains a password */
  constructor(url: URL, credentials: Headers, log: Pick<Log, 'warn'>) {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new TypeError('--upstream must be an http: or https: URL')
    if (url.username !== '' || url.password !== '')
      throw new TypeError('--upstream may not contain a password: use --upstream-header-env')
    this.#url = url
    this.#credentials = credentials
    this.#log = log
    const isSecure = url.protocol === 'https:'
    const options = { keepAlive: true, timeout: IDLE_SOCKET_MS }
    this.#agent = isSecure ? new HttpsAgent(options) : new HttpAgent(options)
    this.#request = isSecure ? requestHttps : requestHttp
  }

  /** Resolves with the head of the answer. @throws Node's error for a connection that failed, broke or was aborted */
  request({ method, headers, body, signal }: UpstreamRequest): Promise<IncomingMessage> {
    const sent = {
      ...headers,
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(body)}` }),
      'accept-encoding': 'identity',
      ...this.#credentials,
    }
    return new Promise((resolve, reject) => {
      const request = this.#request(this.#url, { method, headers: sent, agent: this.#agent, signal })
      // Later errors also appear on the answer.
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (!signal.aborted) this.#tell(`The upstream cannot be reached: ${error.code ?? error.message}`)
        reject(error)
      })
      request.on('response', (answer) => {
        this.#tell(troubleOf(answer))
        if (answer.statusCode === 401) this.#tellRefusal()
        resolve(answer)
      })
      request.end(body)
    })
  }

  /** Sends a message that is not a request, in the session of these headers. */
  async tell(message: JsonRpcMessage, headers: Headers): Promise<void> {
    const { 'last-event-id': _of, ...others } = headers
    const accept = 'application/json, text/event-stream'
    const signal = AbortSignal.timeout(TELLING_MS)
    const body = JSON.stringify(message)
    const answer = await this.request({ method: 'POST', headers: { ...others, accept }, body, signal })
    answer.resume()
  }

  /** Reports the same trouble once, until it ends. */
  #tell(trouble: string | undefined): void {
    if (trouble !== undefined && trouble !== this.#trouble) this.#log.warn(trouble)
    this.#trouble = trouble
  }

  /** Only once: if clients send their own credentials, requests without them are normal. */
  #tellRefusal(): void {
    if (!this.#isRefusalTold)
      this.#log.warn(
        'The upstream answers HTTP 401: a request had no credentials that it accepts. Set --upstream-header-env, or --forward-authorization if clients send their own.',
      )
    this.#isRefusalTold = true
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Trouble that only the operator can fix. */
function troubleOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  if (statusCode >= 300 && statusCode < 400)
    return `The upstream redirects (HTTP ${statusCode}), and the proxy does not follow: set --upstream to the target URL`
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    return `The upstream compresses its answers (${headers['content-encoding']}), but the proxy needs them uncompressed`
  return undefined
}

/** Picks the headers of a client's request. */
export function headersForServer(headers: NodeJS.Dict<string | string[]>): Headers {
  return picked(headers, (name) => PASSED_TO_SERVER.includes(name) || name.startsWith('mcp-'))
}

/** Picks the headers of the server's answer. @param sessionId the session that the client may know */
export function answerHeaders(headers: NodeJS.Dict<string | string[]>, sessionId: string | undefined): Headers {
  const passed = picked(headers, (name) => PASSED_TO_CLIENT.includes(name))
  const isKnown = sessionId !== undefined && headers['mcp-session-id'] === sessionId
  return { ...passed, ...(isKnown && { 'mcp-session-id': sessionId }) }
}

/** `type/subtype` in lower case, without parameters; '' where there is none. */
export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase()
}

function picked(headers: NodeJS.Dict<string | string[]>, isPicked: (name: string) => boolean): Headers {
  const entries = Object.entries(headers).filter(([name]) => isPicked(name))
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}
