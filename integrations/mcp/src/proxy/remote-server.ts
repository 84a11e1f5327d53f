/** A server of Streamable HTTP, for a client on standard input and output: the other side of the proxy. */
import type { IncomingMessage } from 'node:http'
import { setTimeout as after } from 'node:timers/promises'
import { isObject, type JsonRpcMessage, type RequestId } from '../json-rpc.js'
import { streamParts } from './event-stream.js'
import { readBytes } from './http-refusal.js'
import type { LineListener } from './json-lines.js'
import type { Log } from './log.js'
import { modernHeaders } from './mcp-headers.js'
import { AnswerCut, kindOf, MAX_MESSAGE_BYTES, UpstreamStatus } from './server-answer.js'
import type { StdioServer } from './stdio-proxy.js'
import { type Headers, UpstreamEndpoint } from './upstream-endpoint.js'

/** How often a stream that breaks is taken up, one time after the other. */
const MAX_TRIES = 5
const RETRY_MS = 1_000
const FAREWELL_MS = 1_000

/** What one answer has brought, until it ended or broke. */
interface Read {
  readonly answered: ReadonlySet<RequestId>
  readonly lastEventId: string | undefined
  /** Whether there was anything at all. */
  readonly hasBrought: boolean
  /** What it broke by. */
  readonly fault: unknown
}

export class RemoteServer implements StdioServer {
  readonly unreadBytes = 0
  /** Resolves when nothing more can be sent: it was stopped, or the session has expired. */
  readonly closed: Promise<void>
  readonly #endpoint: UpstreamEndpoint
  readonly #log: Log
  readonly #ending = new AbortController()
  /** Requests of 2026-07-28, which are cancelled by leaving them. */
  readonly #leaving = new Map<RequestId, AbortController>()
  readonly #refusals = new Set<number>()
  #listener: LineListener | undefined
  #session: Headers = {}
  #retryMs = RETRY_MS
  #reading = Promise.resolve()
  #readOn: () => void = () => undefined

  /** @throws TypeError as UpstreamEndpoint does */
  constructor(url: URL, credentials: Headers, log: Log) {
    this.#endpoint = new UpstreamEndpoint(url, credentials, log)
    this.#log = log
    this.closed = new Promise((resolve) => {
      this.#ending.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  listen(listener: LineListener): void {
    this.#listener = listener
  }

  /** Whether its answers are read: what is not read waits at the server. */
  setReading(isReading: boolean): void {
    this.#readOn()
    if (isReading) return
    this.#reading = new Promise((resolve) => {
      this.#readOn = resolve
    })
  }

  onDrain(): void {
    // Each message is a request of its own: none waits for another.
  }

  /** Resolves when a request has its response, and anything else is taken. @throws what it is to be settled by */
  async send(message: JsonRpcMessage): Promise<void> {
    const cancelled = cancelledBy(message)
    const left = cancelled === undefined ? undefined : this.#leaving.get(cancelled)
    if (left !== undefined) return left.abort(new AnswerCut('the call was cancelled'))
    const id = requestIdOf(message)
    const modern = modernHeaders(message)
    const leaving = new AbortController()
    if (id !== undefined && modern !== undefined) this.#leaving.set(id, leaving)
    const signal = AbortSignal.any([this.#ending.signal, leaving.signal])
    try {
      await this.#exchange(message, id, { ...this.#session, ...modern }, signal)
    } catch (error) {
      throw signal.aborted ? (signal.reason as Error) : error
    } finally {
      if (id !== undefined) this.#leaving.delete(id)
    }
  }

  /** Ends the session, and all that is in progress. */
  async stop(): Promise<void> {
    const { signal } = this.#ending
    if (!signal.aborted && this.#session['mcp-session-id'] !== undefined) {
      const farewell = AbortSignal.any([signal, AbortSignal.timeout(FAREWELL_MS)])
      const answer = await this.#endpoint
        .request({ method: 'DELETE', headers: this.#session, signal: farewell })
        .catch(() => undefined)
      answer?.destroy()
    }
    this.#ending.abort(new AnswerCut('the proxy is shutting down'))
    this.#endpoint.close()
  }

  async #exchange(
    message: JsonRpcMessage,
    id: RequestId | undefined,
    session: Headers,
    signal: AbortSignal,
  ): Promise<void> {
    const headers = { accept: 'application/json, text/event-stream', ...session }
    const answer = await this.#endpoint.request({ method: 'POST', headers, body: JSON.stringify(message), signal })
    const status = answer.statusCode!
    const isInitialize = 'method' in message && message.method === 'initialize'
    const opened = answer.headers['mcp-session-id']
    if (isInitialize && typeof opened === 'string') this.#session = { 'mcp-session-id': opened }
    const { answered, lastEventId, fault } = await this.#read(answer, isInitialize ? id : undefined)
    if (status > 299 && status !== 401) this.#warnOf(status)
    if (status === 404 && session['mcp-session-id'] !== undefined) this.#expire()
    if ('method' in message && message.method === 'notifications/initialized') void this.#follow({}, undefined)
    if (id === undefined || answered.has(id)) return
    if (status > 299) throw new UpstreamStatus(status)
    if (lastEventId !== undefined && (await this.#follow({ 'last-event-id': lastEventId }, id, signal))) return
    throw fault ?? new AnswerCut('it ended without a response')
  }

  /**
   * Streams of what belongs to no request, one after the other; or of one request whose stream broke, until its response has come.
   * Gives whether it has.
   */
  async #follow(from: Headers, id: RequestId | undefined, signal = this.#ending.signal): Promise<boolean> {
    let at = from
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      try {
        if (tries > 0 || id !== undefined) await after(this.#retryMs, undefined, { signal })
        const headers = { accept: 'text/event-stream', ...this.#session, ...at }
        const answer = await this.#endpoint.request({ method: 'GET', headers, signal })
        const { answered, lastEventId, hasBrought } = await this.#read(answer)
        if (id !== undefined && answered.has(id)) return true
        if (answer.statusCode !== 200) return false
        if (lastEventId !== undefined) at = { 'last-event-id': lastEventId }
        if (hasBrought) tries = 0
      } catch {
        // Once more, as long as anybody waits for it.
        if (signal.aborted) return false
      }
    }
    return false
  }

  /** Hands on what an answer brings. Never rejects. */
  async #read(answer: IncomingMessage, initializing?: RequestId): Promise<Read> {
    const answered = new Set<RequestId>()
    let lastEventId: string | undefined
    let hasBrought = false
    let fault: unknown
    const tell = (text: string): void => {
      const message = parsed(text)
      if (message === undefined) return
      for (const one of [message].flat()) if (isObject(one) && !('method' in one)) answered.add(one.id as RequestId)
      if (initializing !== undefined) this.#noteVersion(message, initializing)
      this.#listener?.onMessage(message)
    }
    try {
      const kind = kindOf(answer)
      if (kind === 'json') tell((await readBytes(answer, MAX_MESSAGE_BYTES))?.toString('utf8') ?? '')
      else if (kind === 'stream')
        for await (const part of streamParts(answer, MAX_MESSAGE_BYTES)) {
          await this.#reading
          hasBrought = true
          if (part.kind === 'retry') this.#retryMs = part.milliseconds
          if (part.kind !== 'event' || (part.event ?? 'message') !== 'message') continue
          lastEventId = part.id ?? lastEventId
          tell(part.data)
        }
      else answer.destroy()
    } catch (error) {
      fault = error
    }
    return { answered, lastEventId, hasBrought, fault }
  }

  /** What was agreed on is said with each request from then on. */
  #noteVersion(message: unknown, id: RequestId): void {
    if (!isObject(message) || message.id !== id || !isObject(message.result)) return
    const { protocolVersion } = message.result
    if (typeof protocolVersion === 'string')
      this.#session = { ...this.#session, 'mcp-protocol-version': protocolVersion }
  }

  /** Once for each: only the operator can fix it. The endpoint reports 401. */
  #warnOf(status: number): void {
    if (!this.#refusals.has(status)) this.#log.warn(`The server answers HTTP ${status}.`)
    this.#refusals.add(status)
  }

  #expire(): void {
    this.#log.error('The server has ended the session. Restart the client.')
    this.#ending.abort(new AnswerCut('the session has ended'))
  }
}

function requestIdOf(message: JsonRpcMessage): RequestId | undefined {
  return 'method' in message && 'id' in message ? message.id : undefined
}

function cancelledBy(message: JsonRpcMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled' || !isObject(message.params))
    return undefined
  return message.params.requestId as RequestId
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
