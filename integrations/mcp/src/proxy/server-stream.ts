/** A GET, on which the server sends unrelated and missed messages, or a DELETE of the session. */
import type { IncomingMessage } from 'node:http'
import { CONNECTION_CLOSED, errorMessage } from '../json-rpc.js'
import type { ClientResponse } from './client-response.js'
import type { HttpSession, HttpSessions, OpenStream } from './http-session.js'
import { AnswerCut, kindOf, type OtherAnswer, readOther, relayStream } from './server-answer.js'
import { answerHeaders, type Headers, type UpstreamEndpoint } from './upstream-endpoint.js'

const MAX_EVENT_IDS = 1000

/** Ids of the last events of a stream. */
export class SentEvents {
  readonly #ids = new Set<string>()

  note(id: string): void {
    this.#ids.add(id)
    if (this.#ids.size > MAX_EVENT_IDS) this.#ids.delete(this.#ids.values().next().value!)
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }

  get areAny(): boolean {
    return this.#ids.size > 0
  }
}

export interface Streaming {
  readonly method: 'GET' | 'DELETE'
  readonly sessions: HttpSessions
  readonly session: HttpSession
  readonly endpoint: UpstreamEndpoint
  readonly client: ClientResponse
  readonly headers: Headers
}

export class ServerStream implements OpenStream {
  readonly #streaming: Streaming
  readonly #sent = new SentEvents()
  readonly #ending = new AbortController()
  #done: Promise<void> | undefined

  constructor(streaming: Streaming) {
    this.#streaming = streaming
  }

  hasSent(eventId: string): boolean {
    return this.#sent.has(eventId)
  }

  async leave(): Promise<void> {
    this.abort('the client continues on another stream')
    await this.#done
  }

  /** Ends the server's answer, and with it the client's. */
  abort(reason: string): void {
    this.#ending.abort(new AnswerCut(reason))
  }

  /** Resolves when the client has its answer, or has left. */
  run(): Promise<void> {
    this.#done = this.#run()
    return this.#done
  }

  async #run(): Promise<void> {
    const { method, session, endpoint, client, headers } = this.#streaming
    const leave = (): void => this.abort('the client has left')
    client.gone.addEventListener('abort', leave, { once: true })
    const lastEventId = headers['last-event-id']
    if (method === 'GET' && lastEventId !== undefined) await session.takeUp(lastEventId)
    session.enter(this)
    try {
      await this.#relay(await endpoint.request({ method, headers, signal: this.#ending.signal }))
      client.end()
    } catch {
      if (client.hasBegun) client.cut()
      else client.json(502, errorMessage(null, { code: CONNECTION_CLOSED, message: 'The server did not answer' }))
    } finally {
      await session.leave(this)
      client.gone.removeEventListener('abort', leave)
    }
  }

  async #relay(answer: IncomingMessage): Promise<void> {
    const { session, client } = this.#streaming
    const status = answer.statusCode!
    const answered = answerHeaders(answer.headers, session.id)
    if (status === 200 && kindOf(answer) === 'stream') {
      client.begin(answered)
      return relayStream(answer, {
        session,
        write: (text) => client.write(text),
        noteId: (id) => this.#sent.note(id),
      })
    }
    const other = await readOther(answer, session)
    this.#noteEnd(status)
    sendOther(client, other, answered)
  }

  /** The session is over when the server has deleted it, or does not know it any more. */
  #noteEnd(status: number): void {
    const { method, sessions, session, headers } = this.#streaming
    const isOver = status === 404 || (method === 'DELETE' && status < 300)
    if (isOver && headers['mcp-session-id'] !== undefined) sessions.end(session)
  }
}

/** Passes on an answer that is not a stream. */
export function sendOther(client: ClientResponse, { status, messages, text }: OtherAnswer, headers: Headers): void {
  const [first, ...others] = messages
  if (text !== undefined) client.whole(status, { ...headers, 'content-type': 'text/plain; charset=utf-8' }, text)
  else if (first === undefined) client.whole(status, headers)
  else client.json(status, others.length > 0 ? messages : first, headers)
}
