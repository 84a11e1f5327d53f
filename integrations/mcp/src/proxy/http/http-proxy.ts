/** A Streamable HTTP server that relays messages to another server through the gate. Source: docs/mcp.md. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AuthInfo } from '../../calls/call.js'
import { endsWithin } from '../../deadline.js'
import { type GateOptions, toolGate } from '../../gate-options.js'
import { errorMessage, isBatch, isObject, MAX_BATCH } from '../../messages/json-rpc.js'
import type { Log } from '../operator.js'
import { ClientResponse } from './client-response.js'
import { ClientTokens, type KnownClient } from './client-tokens.js'
import type { Exchanged } from './exchange.js'
import { assertNoRebinding, HttpRefusal, isLoopback, readJson } from './http-refusal.js'
import { type HttpSession, HttpSessions } from './http-session.js'
import { assertHeadersRepeat } from './mcp-headers.js'
import { PostExchange } from './post-exchange.js'
import { ServerStream } from './server-stream.js'
import { type Headers, headersForServer, UpstreamEndpoint } from './upstream-endpoint.js'

/** The only path. It never repeats the upstream's path, because a URL can be a secret. */
const ENDPOINT_PATH = '/mcp'

/** How long open requests may take when the proxy ends, in milliseconds. */
const ENDING_MS = 5000
const LAST_ANSWERS_MS = 1000

export interface HttpProxyOptions {
  readonly listen: { readonly host: string; readonly port: number }
  readonly upstream: URL
  /** With `clients`, a request needs the token of one of them, and acts as that client's agent. */
  readonly config: { readonly clients?: readonly KnownClient[] | undefined }
  readonly gate: GateOptions
  readonly log: Omit<Log, 'info'>
  /** Credentials that are sent with each request to the upstream. */
  readonly upstreamHeaders?: Headers | undefined
  /** Whether the upstream receives the client's own `Authorization`. Not with `clients`: their tokens are for the proxy. */
  readonly forwardAuthorization?: boolean | undefined
}

export interface HttpProxy {
  /** Where clients connect. */
  readonly url: string
  /** Takes no more requests. Resolves when the open requests are answered and settled. */
  close(): Promise<void>
}

/** @throws TypeError for options without access control; Node's error for an address that cannot be used */
export async function startHttpProxy(options: HttpProxyOptions): Promise<HttpProxy> {
  const { host, port } = options.listen
  if (!isLoopback(host) && options.config.clients === undefined)
    throw new TypeError(
      `--listen ${host} would let other machines call tools as this agent: add "clients" with the hashes of their tokens to the configuration, or listen on 127.0.0.1`,
    )
  if (options.forwardAuthorization === true && options.config.clients !== undefined)
    throw new TypeError(
      '--forward-authorization cannot be combined with "clients": their tokens are for the proxy only',
    )
  const proxy = new Proxying(options)
  const server = createServer((request, response) => void proxy.handle(request, new ClientResponse(response)))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: actual } = server.address() as AddressInfo
  const shown = host.includes(':') ? `[${host}]` : host
  return { url: `http://${shown}:${actual}${ENDPOINT_PATH}`, close: () => proxy.close(server) }
}

interface Asking extends Pick<Exchanged, 'client' | 'headers'> {
  /** The agent of the client. Undefined if all clients share one agent. */
  readonly owner: string | undefined
}

interface OpenExchange {
  readonly exchange: PostExchange | ServerStream
  readonly session: HttpSession
  /** Never rejects. */
  readonly running: Promise<void>
}

class Proxying {
  readonly #options: HttpProxyOptions
  readonly #tokens: ClientTokens | undefined
  readonly #endpoint: UpstreamEndpoint
  readonly #sessions: HttpSessions
  readonly #open = new Set<OpenExchange>()
  readonly #clients = new Set<ClientResponse>()
  #isClosing = false

  constructor(options: HttpProxyOptions) {
    this.#options = options
    const { clients } = options.config
    this.#tokens = clients && new ClientTokens(clients)
    this.#endpoint = new UpstreamEndpoint(options.upstream, options.upstreamHeaders ?? {}, options.log)
    this.#sessions = new HttpSessions(toolGate('countersign-mcp', options.gate), {
      adoptsUnknown: clients === undefined,
    })
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, client: ClientResponse): Promise<void> {
    this.#clients.add(client)
    void client.finished.then(() => this.#clients.delete(client))
    try {
      await this.#serve(request, client)
    } catch (error) {
      const refusal = error instanceof HttpRefusal ? error : this.#unexpected(error, client)
      if (client.hasBegun) return client.cut()
      client.json(refusal.status, errorMessage(null, { code: refusal.code, message: refusal.message }), refusal.headers)
    }
  }

  async close(server: Server): Promise<void> {
    this.#isClosing = true
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const { exchange } of this.#open)
      if (exchange instanceof ServerStream) exchange.abort('the proxy is shutting down')
    await endsWithin(Promise.allSettled(this.#running()), ENDING_MS)
    const ended = this.#endLate('the proxy is shutting down')
    await endsWithin(
      Promise.allSettled([ended, ...[...this.#clients].map(({ finished }) => finished)]),
      LAST_ANSWERS_MS,
    )
    // A client that does not read would block the end forever.
    server.closeAllConnections()
    await ended
    await closed
    this.#endpoint.close()
  }

  /** Answers and settles the requests that are still open. */
  async #endLate(reason: string): Promise<void> {
    const late = [...this.#open]
    await this.#sessions.endAll(reason)
    await Promise.all(late.map(({ session }) => session.gate.close(reason)))
    for (const { exchange } of late) exchange.abort(reason)
    await Promise.all(this.#running())
  }

  #running(): Promise<void>[] {
    return [...this.#open].map(({ running }) => running)
  }

  async #serve(request: IncomingMessage, client: ClientResponse): Promise<void> {
    assertNoRebinding(request, this.#options.listen.host)
    if (request.url?.split('?', 1)[0] !== ENDPOINT_PATH)
      throw new HttpRefusal(404, `Not found: the endpoint is ${ENDPOINT_PATH}`)
    const asking = { client, owner: this.#authenticated(request), headers: this.#headersOf(request) }
    if (request.method === 'POST') return this.#post(await readJson(request), asking)
    if (request.method === 'GET' || request.method === 'DELETE') return this.#stream(request.method, asking)
    throw new HttpRefusal(405, 'Method not allowed', { headers: { allow: 'GET, POST, DELETE' } })
  }

  #authenticated({ headers }: IncomingMessage): string | undefined {
    const agent = this.#tokens?.agentOf(headers.authorization)
    if (this.#tokens === undefined || agent !== undefined) return agent
    const challenge = headers.authorization === undefined ? '' : ', error="invalid_token"'
    throw new HttpRefusal(401, 'Unauthorized: send the bearer token of a known client', {
      headers: { 'www-authenticate': `Bearer realm="countersign-mcp"${challenge}` },
    })
  }

  async #post(body: unknown, { owner, ...asking }: Asking): Promise<void> {
    const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
    if (!isBatch(messages))
      throw new HttpRefusal(400, `Invalid Request: a batch has 1 to ${MAX_BATCH} messages`, { code: -32600 })
    const isOpening = messages.some((message) => isObject(message) && message.method === 'initialize')
    assertHeadersRepeat(asking.headers, messages)
    const isNew = isOpening && asking.headers['mcp-session-id'] === undefined
    const session = isNew ? this.#sessions.open(owner) : this.#sessionOf(asking.headers, owner)
    const authInfo: AuthInfo | undefined = owner === undefined ? undefined : { clientId: owner }
    const posted = { messages, isBatch: Array.isArray(body), authInfo }
    await this.#run(new PostExchange({ ...this.#upstream, ...asking, session, ...posted }), session)
  }

  async #stream(method: 'GET' | 'DELETE', { owner, ...asking }: Asking): Promise<void> {
    const session = this.#sessionOf(asking.headers, owner)
    await this.#run(new ServerStream({ ...this.#upstream, ...asking, session, method }), session)
  }

  get #upstream(): Pick<Exchanged, 'sessions' | 'endpoint'> {
    return { sessions: this.#sessions, endpoint: this.#endpoint }
  }

  async #run(exchange: PostExchange | ServerStream, session: HttpSession): Promise<void> {
    if (this.#isClosing) throw new HttpRefusal(503, 'The proxy is shutting down', { headers: { connection: 'close' } })
    const running = exchange.run()
    const open = { exchange, session, running: running.catch(() => undefined) }
    this.#open.add(open)
    await running.finally(() => this.#open.delete(open))
  }

  /** @throws HttpRefusal 404 for an unknown session or a session of another owner: the client then starts a new session */
  #sessionOf(headers: Headers, owner: string | undefined): HttpSession {
    const { 'mcp-session-id': id, 'last-event-id': lastEventId } = headers
    const isResuming = lastEventId !== undefined
    const session = id === undefined ? this.#sessions.passing(owner, isResuming) : this.#sessions.find(id, owner)
    if (session === undefined) throw new HttpRefusal(404, 'Session not found', { code: -32001 })
    return session
  }

  #headersOf({ headers }: IncomingMessage): Headers {
    const authorization = this.#options.forwardAuthorization === true ? headers.authorization : undefined
    return { ...headersForServer(headers), ...(authorization !== undefined && { authorization }) }
  }

  #unexpected(error: unknown, client: ClientResponse): HttpRefusal {
    if (!client.gone.aborted)
      this.#options.log.error(`A request failed: ${error instanceof Error ? error.message : error}`)
    return new HttpRefusal(500, 'Internal error: the proxy failed')
  }
}
