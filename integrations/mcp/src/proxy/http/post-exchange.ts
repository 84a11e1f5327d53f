/**
 * One POST of a client. Its messages pass the gate, the permitted ones go to the server in one request, and the client gets one
 * response with the answers of both.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { AuthInfo } from '../../calls/call.js'
import { oneLineOfJson, respelled, spellingsOf, textOfJson } from '../../json/exact-json.js'
import { AnswerTooLarge, UpstreamStatus } from '../../messages/answer-errors.js'
import {
  CONNECTION_CLOSED,
  errorMessage,
  isObject,
  type JsonRpcMessage,
  type RequestId,
} from '../../messages/json-rpc.js'
import { eventText } from './event-stream.js'
import { Exchange, type Exchanged } from './exchange.js'
import type { PostedMessage } from './http-session.js'
import { cancelsByLeaving, headersOfOwnRequest } from './mcp-headers.js'
import { AnswerCut, kindOf, readOther, relayJson, relayStream } from './server-answer.js'
import { sendOther } from './server-stream.js'
import { answerHeaders, type Headers } from './upstream-endpoint.js'

/** How long the answer to a call is read after the client has left, to settle the call by its outcome. */
const READING_ON_MS = 10 * 60_000
const OWN_REQUEST_MS = 30_000

export interface Posted extends Exchanged {
  readonly messages: readonly unknown[]
  readonly isBatch: boolean
  readonly authInfo: AuthInfo | undefined
}

export class PostExchange extends Exchange<Posted> {
  readonly #forwarded: { readonly message: JsonRpcMessage; readonly text: string }[] = []
  readonly #answers: JsonRpcMessage[] = []
  #isStreaming = false
  /** The id of the session that the answer has opened. */
  #openedId: string | undefined

  protected async exchange(): Promise<void> {
    const { session, client } = this.given
    session.enter(this)
    try {
      await this.#gated()
      if (this.#forwarded.length > 0) await this.#forward()
      this.#end()
    } catch (error) {
      await this.#fail(error)
      throw error
    } finally {
      await session.leave(this)
      client.end()
    }
  }

  /** Resolves when each message was permitted or refused. */
  async #gated(): Promise<void> {
    const { session, client, messages, authInfo, headers } = this.given
    const context = { authInfo, sessionId: session.id, connection: connectionOf(headers), signal: client.gone }
    await Promise.all(
      messages.map(
        (message) =>
          new Promise<void>((resolve) =>
            session.gate.fromClient(message, this.#postedMessage(message, resolve), context),
          ),
      ),
    )
  }

  #postedMessage(given: unknown, decided: () => void): PostedMessage {
    const spellings = spellingsOf(given)
    return {
      toServer: (message) => {
        if (this.given.session.gate.isOwn(message)) return this.#ask(message)
        decided()
        this.#forwarded.push({ message, text: textOfJson(respelled(message, spellings)) })
      },
      answer: async (message) => {
        decided()
        if (this.#isStreaming) await this.given.client.write(eventText(oneLineOfJson(message)))
        else this.#answers.push(message)
      },
      dropped: decided,
    }
  }

  async #forward(): Promise<void> {
    const { endpoint, client, headers, isBatch } = this.given
    const texts = this.#forwarded.map(({ text }) => text)
    const body = isBatch ? `[${texts.join()}]` : texts[0]
    const stopsReading = this.#watchForLeaving()
    try {
      const answer = await endpoint.request({ method: 'POST', headers, body, signal: this.ending })
      await this.#relay(answer)
    } catch (error) {
      // The client can resume the stream, and would receive an error and the answer.
      if (this.#canBeTakenUp && !(error instanceof AnswerTooLarge)) return client.cut()
      await this.#fail(this.ending.aborted ? this.ending.reason : error)
      if (!this.#hasRequests)
        client.json(502, errorMessage(null, { code: CONNECTION_CLOSED, message: 'The server did not answer' }))
    } finally {
      stopsReading()
    }
  }

  /** Reads the answer to a call to its end for some time, even after the client has left. */
  #watchForLeaving(): () => void {
    const { client, headers } = this.given
    let timer: NodeJS.Timeout | undefined
    const left = (): void => {
      const isCall = this.#unanswered().some((id) => this.given.session.gate.isSettledByResponse(id))
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
    const { session, client } = this.given
    const status = answer.statusCode!
    if (!this.#noteSession(answer, status)) throw new AnswerCut('it belongs to the session of another client')
    if (status < 200 || status > 299) return this.#relayRefusal(answer, status)
    const kind = kindOf(answer)
    if (kind === 'stream') {
      client.begin(this.#headersOf(answer))
      this.#isStreaming = true
      for (const message of this.#answers.splice(0)) await client.write(eventText(oneLineOfJson(message)))
      await relayStream(answer, { session, write: (text) => client.write(text), noteId: (id) => this.noteId(id) })
      if (this.#unanswered().length > 0 && this.#canBeTakenUp) return
    } else if (kind === 'json') await relayJson(session, answer, (message) => void this.#answers.push(message))
    else answer.destroy()
    await this.#fail(new AnswerCut('it ended without a response'))
    if (!this.#isStreaming) this.#sendAnswers(status, this.#headersOf(answer))
  }

  /** Relays an answer other than success, and settles the requests by its status. */
  async #relayRefusal(answer: IncomingMessage, status: number): Promise<void> {
    const { sessions, session, client, headers } = this.given
    const { body, ...other } = await readOther(answer, session)
    const hasOwn = this.#answers.length > 0
    await this.#fail(
      status < 400 ? new AnswerCut(`HTTP ${status} is a redirect`) : new UpstreamStatus(status, answer.headers),
    )
    if (status === 404 && headers['mcp-session-id'] !== undefined) sessions.end(session)
    const told = this.#expected(other.messages)
    const messages = told.length > 0 ? told : this.#answers
    // The gate's own answers to other messages of the batch must not be lost for a text.
    sendOther(client, { ...other, messages, body: hasOwn ? undefined : body }, this.#headersOf(answer))
  }

  /** The answer to `initialize` opens a session. Returns false if the session belongs to another client. */
  #noteSession({ headers }: IncomingMessage, status: number): boolean {
    const { sessions, session, messages } = this.given
    const id = headers['mcp-session-id']
    const isOpened = typeof id === 'string' && id !== session.id && status < 300 && messages.some(isInitialize)
    if (!isOpened) return true
    // A client can open another session within a session.
    const opened = session.id === undefined ? session : sessions.open(session.owner)
    this.#openedId = id
    return sessions.name(opened, id)
  }

  #headersOf({ headers }: IncomingMessage): Headers {
    return answerHeaders(headers, this.#openedId ?? this.given.session.id)
  }

  /** Whether the client can resume this stream with a GET, and receive the missing answers there. */
  get #canBeTakenUp(): boolean {
    return this.given.session.id !== undefined && this.hasSentAny
  }

  get #hasRequests(): boolean {
    return this.#forwarded.some(({ message }) => idOfRequest(message) !== undefined)
  }

  #unanswered(): RequestId[] {
    const ids = this.#forwarded.map(({ message }) => idOfRequest(message))
    return ids.filter((id): id is RequestId => id !== undefined && this.given.session.gate.isPending(id))
  }

  /** Settles the requests without a response, and answers each with an error. */
  async #fail(error: unknown): Promise<void> {
    await Promise.all(this.#unanswered().map((id) => this.given.session.gate.failed(id, error)))
  }

  #sendAnswers(status: number, headers: Headers): void {
    const { client, isBatch } = this.given
    const answers = this.#expected(this.#answers)
    const [first, ...others] = answers
    // A cancelled request has no answer.
    if (first === undefined) client.whole(status === 200 && this.#hasRequests ? 202 : status, headers)
    else client.json(status === 202 ? 200 : status, isBatch || others.length > 0 ? answers : first, headers)
  }

  /** Leaves out responses to requests that are not of this POST. A response without an id counts only if there is no other. */
  #expected(messages: readonly JsonRpcMessage[]): readonly JsonRpcMessage[] {
    const asked = new Set(this.given.messages.map((message) => Object(message).id?.valueOf()))
    const known = messages.filter((one) => 'method' in one || (one.id !== undefined && asked.has(one.id?.valueOf())))
    return known.length > 0 ? known : messages.filter((one) => !('method' in one) && (one.id ?? null) === null)
  }

  #end(): void {
    const { client } = this.given
    if (!client.hasBegun) this.#sendAnswers(this.#answers.length > 0 ? 200 : 202, {})
    client.end()
  }

  /** Sends a request of the gate itself. Only the gate receives the response. */
  async #ask(message: JsonRpcMessage): Promise<void> {
    const { session, endpoint, client, headers } = this.given
    const id = idOfRequest(message)!
    const signal = AbortSignal.any([client.gone, AbortSignal.timeout(OWN_REQUEST_MS)])
    const own = headersOfOwnRequest(headers, (message as { readonly method: string }).method)
    const answer = await endpoint.request({ method: 'POST', headers: own, body: textOfJson(message), signal })
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

/** Identifies the client for a server without sessions, if clients have no tokens. All of them act as one agent. */
function connectionOf({ authorization = '' }: Headers): string {
  return createHash('sha256').update(authorization).digest('hex')
}

function isInitialize(message: unknown): boolean {
  return isObject(message) && message.method === 'initialize'
}
