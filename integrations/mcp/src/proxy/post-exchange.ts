/**
 * One POST of a client. Its messages pass the gate, the permitted ones go to the server as one request, and the client gets one response
 * with the answers of both.
 */
import type { IncomingMessage } from 'node:http'
import type { AuthInfo } from '../gated-call.js'
import { CONNECTION_CLOSED, errorMessage, isObject, type JsonRpcMessage, type RequestId } from '../json-rpc.js'
import type { ClientResponse } from './client-response.js'
import { eventText } from './event-stream.js'
import type { HttpSession, HttpSessions, OpenStream, PostedMessage } from './http-session.js'
import { cancelsByLeaving, headersOfOwnRequest } from './mcp-headers.js'
import { AnswerCut, kindOf, readOther, relayJson, relayStream, UpstreamStatus } from './server-answer.js'
import { SentEvents, sendOther } from './server-stream.js'
import { answerHeaders, type Headers, type UpstreamEndpoint } from './upstream-endpoint.js'

/** How long the answer to a call is read for a client that has left: so that the call is settled by how it ended. */
const READING_ON_MS = 10 * 60_000
const OWN_REQUEST_MS = 30_000

export interface Posted {
  readonly sessions: HttpSessions
  readonly session: HttpSession
  readonly endpoint: UpstreamEndpoint
  readonly client: ClientResponse
  readonly headers: Headers
  readonly messages: readonly unknown[]
  readonly isBatch: boolean
  readonly authInfo: AuthInfo | undefined
}

export class PostExchange implements OpenStream {
  readonly #posted: Posted
  readonly #forwarded: { readonly message: JsonRpcMessage; readonly text: string }[] = []
  readonly #answers: JsonRpcMessage[] = []
  readonly #sent = new SentEvents()
  readonly #ending = new AbortController()
  readonly #done: Promise<void>
  #markDone: () => void = () => undefined
  #isStreaming = false

  constructor(posted: Posted) {
    this.#posted = posted
    this.#done = new Promise((resolve) => {
      this.#markDone = resolve
    })
  }

  hasSent(eventId: string): boolean {
    return this.#sent.has(eventId)
  }

  async leave(): Promise<void> {
    this.abort('the client continues on another stream')
    await this.#done
  }

  /** Ends the server's answer. */
  abort(reason: string): void {
    this.#ending.abort(new AnswerCut(reason))
  }

  /** Resolves when the client has its answer, or has left and there is nothing more to settle by. */
  async run(): Promise<void> {
    const { session, client } = this.#posted
    session.enter(this)
    try {
      await this.#gated()
      if (this.#forwarded.length > 0) await this.#exchange()
      this.#end()
    } catch (error) {
      await this.#fail(error)
      throw error
    } finally {
      await session.leave(this)
      this.#markDone()
      client.end()
    }
  }

  /** Resolves when it is decided of each message whether it passes. */
  async #gated(): Promise<void> {
    const { session, client, messages, authInfo } = this.#posted
    const context = { authInfo, sessionId: session.id, signal: client.gone }
    await Promise.all(
      messages.map(
        (message) =>
          new Promise<void>((resolve) => session.gate.fromClient(message, this.#postedMessage(resolve), context)),
      ),
    )
  }

  #postedMessage(decided: () => void): PostedMessage {
    return {
      toServer: (message) => {
        if (this.#posted.session.gate.isOwn(message)) return this.#ask(message)
        decided()
        this.#forwarded.push({ message, text: JSON.stringify(message) })
      },
      answer: async (message) => {
        decided()
        if (this.#isStreaming) await this.#posted.client.write(eventText(JSON.stringify(message)))
        else this.#answers.push(message)
      },
      dropped: decided,
    }
  }

  async #exchange(): Promise<void> {
    const { endpoint, client, headers, isBatch } = this.#posted
    const texts = this.#forwarded.map(({ text }) => text)
    const body = isBatch ? `[${texts.join()}]` : texts[0]
    const stopsReading = this.#watchForLeaving()
    try {
      const answer = await endpoint.request({ method: 'POST', headers, body, signal: this.#ending.signal })
      await this.#relay(answer)
    } catch (error) {
      if (this.#canBeTakenUp) return client.cut()
      await this.#fail(this.#ending.signal.aborted ? this.#ending.signal.reason : error)
      if (!this.#hasRequests)
        client.json(502, errorMessage(null, { code: CONNECTION_CLOSED, message: 'The server did not answer' }))
    } finally {
      stopsReading()
    }
  }

  /** The answer to a call is read to its end, for some time, though nobody waits for it. */
  #watchForLeaving(): () => void {
    const { client, headers } = this.#posted
    let timer: NodeJS.Timeout | undefined
    const left = (): void => {
      const isCall = this.#forwarded.some(({ message }) => 'method' in message && message.method === 'tools/call')
      if (isCall && !cancelsByLeaving(headers)) timer = setTimeout(() => this.abort('it took too long'), READING_ON_MS)
      else this.abort('the client has left')
    }
    if (client.gone.aborted) left()
    else client.gone.addEventListener('abort', left, { once: true })
    return () => {
      clearTimeout(timer)
      client.gone.removeEventListener('abort', left)
    }
  }

  async #relay(answer: IncomingMessage): Promise<void> {
    const { session, client } = this.#posted
    const status = answer.statusCode!
    if (!this.#noteSession(answer, status)) throw new AnswerCut('it belongs to the session of another client')
    if (status < 200 || status > 299) return this.#relayRefusal(answer, status)
    const kind = kindOf(answer)
    if (kind === 'stream') {
      client.begin(this.#headersOf(answer))
      this.#isStreaming = true
      for (const message of this.#answers.splice(0)) await client.write(eventText(JSON.stringify(message)))
      await relayStream(answer, { session, write: (text) => client.write(text), noteId: (id) => this.#sent.note(id) })
      if (this.#unanswered().length > 0 && this.#canBeTakenUp) return
    } else if (kind === 'json') await relayJson(session, answer, (message) => void this.#answers.push(message))
    else answer.destroy()
    await this.#fail(new AnswerCut('it ended without a response'))
    if (!this.#isStreaming) this.#sendAnswers(status, this.#headersOf(answer))
  }

  /** Passes on an answer other than success, and settles the requests by its status. */
  async #relayRefusal(answer: IncomingMessage, status: number): Promise<void> {
    const { sessions, session, client, headers } = this.#posted
    const other = await readOther(answer, session)
    await this.#fail(status < 400 ? new AnswerCut(`HTTP ${status} is a redirect`) : new UpstreamStatus(status))
    if (status === 404 && headers['mcp-session-id'] !== undefined) sessions.end(session)
    const messages = other.messages.length > 0 ? other.messages : this.#answers
    sendOther(client, { ...other, messages }, this.#headersOf(answer))
  }

  /** The answer to `initialize` opens a session. False where it is one of another client. */
  #noteSession({ headers }: IncomingMessage, status: number): boolean {
    const { sessions, session, messages } = this.#posted
    const id = headers['mcp-session-id']
    const isOpened = typeof id === 'string' && id !== session.id && status < 300 && messages.some(isInitialize)
    return !isOpened || sessions.name(session, id)
  }

  #headersOf({ headers }: IncomingMessage): Headers {
    return answerHeaders(headers, this.#posted.session.id)
  }

  /** The client can go on with this stream by a GET: what is unanswered is still to come. */
  get #canBeTakenUp(): boolean {
    return this.#posted.session.id !== undefined && this.#sent.areAny
  }

  get #hasRequests(): boolean {
    return this.#forwarded.some(({ message }) => idOfRequest(message) !== undefined)
  }

  #unanswered(): RequestId[] {
    const ids = this.#forwarded.map(({ message }) => idOfRequest(message))
    return ids.filter((id): id is RequestId => id !== undefined && this.#posted.session.gate.isPending(id))
  }

  /** Settles what the server has not answered, and gives the client an error for each. */
  async #fail(error: unknown): Promise<void> {
    await Promise.all(this.#unanswered().map((id) => this.#posted.session.gate.failed(id, error)))
  }

  #sendAnswers(status: number, headers: Headers): void {
    const { client, isBatch } = this.#posted
    const [first, ...others] = this.#answers
    if (first === undefined) client.whole(status, headers)
    else client.json(status === 202 ? 200 : status, isBatch || others.length > 0 ? this.#answers : first, headers)
  }

  #end(): void {
    const { client } = this.#posted
    if (!client.hasBegun) this.#sendAnswers(this.#answers.length > 0 ? 200 : 202, {})
    client.end()
  }

  /** A question of the gate itself: the response is for it alone. */
  async #ask(message: JsonRpcMessage): Promise<void> {
    const { session, endpoint, client, headers } = this.#posted
    const id = idOfRequest(message)!
    const signal = AbortSignal.any([client.gone, AbortSignal.timeout(OWN_REQUEST_MS)])
    const own = headersOfOwnRequest(headers, (message as { readonly method: string }).method)
    const answer = await endpoint.request({ method: 'POST', headers: own, body: JSON.stringify(message), signal })
    const status = answer.statusCode!
    const kind = kindOf(answer)
    if (status < 200 || status > 299) throw new UpstreamStatus(status)
    if (kind === 'stream') await relayStream(answer, { session, write: async () => undefined })
    else if (kind === 'json') await relayJson(session, answer, () => undefined)
    if (session.gate.isPending(id)) throw new AnswerCut('it ended without a response')
  }
}

function idOfRequest(message: JsonRpcMessage): RequestId | undefined {
  return 'method' in message && 'id' in message ? message.id : undefined
}

function isInitialize(message: unknown): boolean {
  return isObject(message) && message.method === 'initialize'
}
