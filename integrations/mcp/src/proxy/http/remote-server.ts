/** A Streamable HTTP server, for a client on standard input and output: the other side of the proxy. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as after } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { envelopeOf } from '../../calls/tool-params.js'
import { plainOf, textOfJson } from '../../json/exact-json.js'
import { allEntries, type ToolListPage } from '../../lists/tool-pages.js'
import { AnswerTooLarge, UpstreamStatus } from '../../messages/answer-errors.js'
import {
  isObject,
  type JsonRpcMessage,
  type ProtocolError,
  type RequestId,
  type RequestMessage,
} from '../../messages/json-rpc.js'
import { MAX_ANSWER_BYTES, parsedServerText } from '../message-text.js'
import type { Log } from '../operator.js'
import type { LineListener } from '../stdio/json-lines.js'
import type { StdioServer } from '../stdio/stdio-proxy.js'
import { streamParts } from './event-stream.js'
import { HEADER_MISMATCH, headersOfOwnRequest, modernHeaders } from './mcp-headers.js'
import { ParamHeaders } from './param-headers.js'
import { AnswerCut, kindOf, readAnswer } from './server-answer.js'
import { type Headers, UpstreamEndpoint } from './upstream-endpoint.js'

const ACCEPT = 'application/json, text/event-stream'
const OWN_REQUEST_MS = 30_000
/** How often a broken stream is resumed in a row. */
const MAX_TRIES = 5
const RETRY_MS = 1_000
const FAREWELL_MS = 1_000

/** What one answer contained, until it ended or broke. */
interface Read {
  readonly answered: ReadonlySet<RequestId>
  readonly lastEventId: string | undefined
  /** Whether any part arrived. */
  readonly hasBrought: boolean
  /** The error that broke the answer. */
  readonly fault: unknown
}

interface Sending {
  readonly message: JsonRpcMessage
  /** For a request. */
  readonly id: RequestId | undefined
  /** For a request of 2026-07-28. */
  readonly modern: Headers | undefined
  readonly signal: AbortSignal
}

/** An answer to a message that did not run. */
interface Refusal {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly messages: readonly unknown[]
}

export class RemoteServer implements StdioServer {
  readonly unreadBytes = 0
  /** Resolves after `stop`, when nothing can be sent any longer. */
  readonly closed: Promise<void>
  readonly #endpoint: UpstreamEndpoint
  readonly #ending = new AbortController()
  /** Open requests of 2026-07-28. Closing their connection cancels them. */
  readonly #leaving = new Map<RequestId, AbortController>()
  readonly #refusals = new Set<number>()
  readonly #params = new ParamHeaders()
  #listener: LineListener | undefined
  #session: Headers = {}
  /** The request that opened the session. */
  #initialize: RequestMessage | undefined
  #startingAgain: Promise<boolean> | undefined
  #retryMs = RETRY_MS
  #reading = Promise.resolve()
  #readOn: () => void = () => undefined

  /** @throws TypeError as UpstreamEndpoint does */
  constructor(
    url: URL,
    credentials: Headers,
    private readonly log: Log,
  ) {
    this.#endpoint = new UpstreamEndpoint(url, credentials, log)
    this.closed = new Promise((resolve) => {
      this.#ending.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  listen(listener: LineListener): void {
    this.#listener = listener
  }

  /** Whether answers are read. Unread answers wait at the server. */
  setReading(isReading: boolean): void {
    this.#readOn()
    if (isReading) return
    this.#reading = new Promise((resolve) => {
      this.#readOn = resolve
    })
  }

  onDrain(): void {
    // Each message has a request to itself, so no message waits for another.
  }

  /** Resolves when a request has its response, or another message was taken. @throws the error that settles a request */
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
      await this.#exchange({ message, id, modern, signal })
    } catch (error) {
      throw signal.aborted ? (signal.reason as Error) : error
    } finally {
      if (id !== undefined) this.#leaving.delete(id)
    }
  }

  /** Ends the session and everything in progress. */
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

  /** @param isAgain whether the server has refused the message once, because of its session or its headers */
  async #exchange(sending: Sending, isAgain = false): Promise<void> {
    const { message, id, modern, signal } = sending
    const session = this.#session
    const params = modern === undefined ? {} : this.#params.of(Object(paramsOf(message)))
    const headers = { accept: ACCEPT, ...session, ...modern, ...params }
    const answer = await this.#endpoint.request({ method: 'POST', headers, body: textOfJson(message), signal })
    if (answer.statusCode! > 299) return this.#refused(sending, await refusalIn(answer), session, isAgain)
    const { answered, lastEventId, fault } = await this.#read(answer, (one) => this.#told(one, sending, answer))
    if ('method' in message && message.method === 'notifications/initialized') void this.#follow({}, undefined)
    if (id === undefined || answered.has(id)) return
    if (fault instanceof AnswerTooLarge) throw fault
    if (lastEventId !== undefined && (await this.#follow({ 'last-event-id': lastEventId }, id, signal))) return
    throw fault ?? new AnswerCut('it ended without a response')
  }

  #told(told: unknown, { message, id }: Sending, answer: IncomingMessage): void {
    const response = plainOf(told)
    if (isObject(response) && response.id === id && isRequest(message)) {
      if (message.method === 'initialize') this.#noteSession(message, response.result, answer)
      if (message.method === 'tools/list') this.#params.note(response.result)
    }
    this.#listener?.onMessage(told)
  }

  /** The message did not run. Sends it again if that can help. @throws UpstreamStatus, AnswerCut */
  async #refused(sending: Sending, refusal: Refusal, session: Headers, isAgain: boolean): Promise<void> {
    const { message, id } = sending
    const { status, headers, messages } = refusal
    if (!isAgain && isRequest(message) && (await this.#canGoOn(sending, refusal, session)))
      return this.#exchange(sending, true)
    // The endpoint reports 401.
    if (status !== 401) this.#warnOf(status)
    const own = messages.filter((one) => isObject(one) && !('method' in one) && one.id === id)
    for (const one of id === undefined ? messages : own) this.#listener?.onMessage(one)
    if (id === undefined || own.length > 0) return
    throw status < 400
      ? new AnswerCut(`HTTP ${status} is a redirect`)
      : new UpstreamStatus(status, headers, errorIn(messages))
  }

  async #canGoOn(sending: Sending, { status, messages }: Refusal, session: Headers): Promise<boolean> {
    const { message, modern, signal } = sending
    if (status === 404 && session['mcp-session-id'] !== undefined) return this.#startAgain(message, session)
    const isMismatch = Number(errorIn(messages)?.code) === HEADER_MISMATCH
    return isMismatch && isCall(message) && (await this.#learnTools(paramsOf(message), modern ?? {}, signal))
  }

  /** The server has lost the session. Returns whether there is a new one, which concurrent calls share. */
  async #startAgain(message: JsonRpcMessage, lost: Headers): Promise<boolean> {
    if (this.#session['mcp-session-id'] !== lost['mcp-session-id']) return true
    if (isRequest(message) && message.method === 'initialize') {
      this.#session = {}
      return true
    }
    this.#startingAgain ??= this.#reopen().finally(() => {
      this.#startingAgain = undefined
    })
    return this.#startingAgain
  }

  /** Opens a session with the client's own `initialize`. */
  async #reopen(): Promise<boolean> {
    const { 'mcp-protocol-version': agreed } = this.#session
    const asked = this.#initialize
    try {
      if (asked === undefined) return false
      const { result, answer } = await this.#ask(asked.method, asked.params, { accept: ACCEPT }, this.#ending.signal)
      if (!isObject(result) || result.protocolVersion !== agreed) throw new Error('it does not speak the same protocol')
      this.#noteSession(asked, result, answer)
      this.log.warn('The server had ended the session. The proxy has started a new one.')
      await this.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return true
    } catch (error) {
      this.log.error(`The server has ended the session and did not start a new one (${(error as Error).message}).`)
      return false
    }
  }

  /** Reads the schemas of the tools. Returns whether the headers of this call have changed. */
  async #learnTools(params: unknown, modern: Headers, signal: AbortSignal): Promise<boolean> {
    const before = this.#params.of(Object(params))
    const headers = headersOfOwnRequest({ ...this.#session, ...modern }, 'tools/list')
    const { _meta: meta } = Object(params)
    const list = async (cursor?: string): Promise<ToolListPage> => {
      const asked = { ...(cursor !== undefined && { cursor }), ...envelopeOf(Object(meta)) }
      const { result } = await this.#ask('tools/list', asked, headers, signal)
      this.#params.note(result)
      return Object(result)
    }
    await allEntries('tools', list).catch(() => undefined)
    return !isDeepStrictEqual(before, this.#params.of(Object(params)))
  }

  /** Sends a request of the proxy itself. @throws UpstreamStatus, AnswerCut */
  async #ask(
    method: string,
    params: unknown,
    headers: Headers,
    signal: AbortSignal,
  ): Promise<{ readonly result: unknown; readonly answer: IncomingMessage }> {
    const id = `countersign:${randomUUID()}`
    const body = textOfJson({ jsonrpc: '2.0', id, method, params })
    const limited = AbortSignal.any([signal, AbortSignal.timeout(OWN_REQUEST_MS)])
    const answer = await this.#endpoint.request({ method: 'POST', headers, body, signal: limited })
    if (answer.statusCode! > 299) throw new UpstreamStatus(answer.statusCode!)
    let response: unknown
    await this.#read(answer, (one) => {
      if (isObject(one) && one.id === id) response = one
      else this.#listener?.onMessage(one)
    })
    if (!isObject(response)) throw new AnswerCut('it ended without a response')
    return { result: response.result, answer }
  }

  /**
   * Reads streams that belong to no request, again and again, or resumes the stream of one request until its response arrives.
   * Returns whether it arrived.
   */
  async #follow(from: Headers, id: RequestId | undefined, signal = this.#ending.signal): Promise<boolean> {
    let at = from
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      try {
        if (tries > 0 || id !== undefined) await after(this.#retryMs, undefined, { signal })
        const headers = { accept: 'text/event-stream', ...this.#session, ...at }
        const answer = await this.#endpoint.request({ method: 'GET', headers, signal })
        const read = await this.#read(answer, (one) => this.#listener?.onMessage(one))
        const { answered, lastEventId, hasBrought, fault } = read
        if (id !== undefined && answered.has(id)) return true
        if (answer.statusCode !== 200 || (id !== undefined && fault instanceof AnswerTooLarge)) return false
        if (lastEventId !== undefined) at = { 'last-event-id': lastEventId }
        if (hasBrought) tries = 0
      } catch {
        // Try again while a caller waits.
        if (signal.aborted) return false
      }
    }
    return false
  }

  /** Passes on the messages of an answer. Never rejects. */
  async #read(answer: IncomingMessage, onMessage: (message: unknown) => void): Promise<Read> {
    const answered = new Set<RequestId>()
    let lastEventId: string | undefined
    let hasBrought = false
    let fault: unknown
    const tell = (text: string): void => {
      const message = parsedServerText(text)
      if (message === undefined) return
      for (const one of [plainOf(message)].flat())
        if (isObject(one) && !('method' in one)) answered.add(one.id as RequestId)
      onMessage(message)
    }
    try {
      const kind = kindOf(answer)
      if (kind === 'json') tell(await readAnswer(answer))
      else if (kind === 'stream')
        for await (const part of streamParts(answer, MAX_ANSWER_BYTES)) {
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

  /** Notes what `initialize` agreed on, for all later requests. */
  #noteSession(message: RequestMessage, result: unknown, { headers }: IncomingMessage): void {
    const { protocolVersion } = Object(result)
    const { 'mcp-session-id': id } = headers
    if (!isObject(result)) return
    this.#initialize = message
    this.#session = {
      ...(typeof id === 'string' && { 'mcp-session-id': id }),
      ...(typeof protocolVersion === 'string' && { 'mcp-protocol-version': protocolVersion }),
    }
  }

  /** Warns once for each status, because only the operator can fix it. */
  #warnOf(status: number): void {
    if (!this.#refusals.has(status)) this.log.warn(`The server answers HTTP ${status}.`)
    this.#refusals.add(status)
  }
}

/** Reads an answer other than success. Never rejects; leaves out what cannot be read. */
async function refusalIn(answer: IncomingMessage): Promise<Refusal> {
  const { statusCode, headers } = answer
  const isJson = kindOf(answer) === 'json' && statusCode! > 399
  if (!isJson) answer.destroy()
  const messages = isJson
    ? await readAnswer(answer)
        .then(parsedServerText)
        .catch(() => undefined)
    : undefined
  return { status: statusCode!, headers, messages: [messages ?? []].flat() }
}

/** The error in a refusal. Few servers name the request in it. */
function errorIn(messages: readonly unknown[]): ProtocolError | undefined {
  const [error] = messages.flatMap((one) => (isObject(one) && isObject(one.error) ? [one.error] : []))
  return error as ProtocolError | undefined
}

function isRequest(message: JsonRpcMessage): message is RequestMessage {
  return 'method' in message && 'id' in message
}

function isCall(message: JsonRpcMessage): boolean {
  return isRequest(message) && message.method === 'tools/call'
}

function paramsOf(message: JsonRpcMessage): unknown {
  return 'params' in message ? message.params : undefined
}

function requestIdOf(message: JsonRpcMessage): RequestId | undefined {
  return isRequest(message) ? message.id : undefined
}

function cancelledBy(message: JsonRpcMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled' || !isObject(message.params))
    return undefined
  return message.params.requestId as RequestId
}
