/** A request of a client, and the server's answer to it. */
import type { JsonRpcMessage } from '../../messages/json-rpc.js'
import type { ClientResponse } from './client-response.js'
import type { HttpSession, HttpSessions, OpenStream } from './http-session.js'
import { AnswerCut } from './server-answer.js'
import type { Headers, UpstreamEndpoint } from './upstream-endpoint.js'

const MAX_EVENT_IDS = 1000

export interface Exchanged {
  readonly sessions: HttpSessions
  readonly session: HttpSession
  readonly endpoint: UpstreamEndpoint
  readonly client: ClientResponse
  readonly headers: Headers
}

export abstract class Exchange<Given extends Exchanged> implements OpenStream {
  /** The ids of the last events that the client may have seen. */
  readonly #sent = new Set<string>()
  readonly #ending = new AbortController()
  #running: Promise<void> | undefined

  constructor(protected readonly given: Given) {}

  protected abstract exchange(): Promise<void>

  /** Resolves when the client has its answer, or has left and no call is left to settle. */
  run(): Promise<void> {
    this.#running = this.exchange()
    return this.#running
  }

  hasSent(eventId: string): boolean {
    return this.#sent.has(eventId)
  }

  tellServer(message: JsonRpcMessage): Promise<void> {
    return this.given.endpoint.tell(message, this.given.headers)
  }

  async leave(): Promise<void> {
    this.abort('the client continues on another stream')
    await this.#running?.catch(() => undefined)
  }

  /** Ends the server's answer. */
  abort(reason: string): void {
    this.#ending.abort(new AnswerCut(reason))
  }

  protected get ending(): AbortSignal {
    return this.#ending.signal
  }

  protected get hasSentAny(): boolean {
    return this.#sent.size > 0
  }

  protected noteId(eventId: string): void {
    this.#sent.add(eventId)
    if (this.#sent.size > MAX_EVENT_IDS) this.#sent.delete(this.#sent.values().next().value!)
  }
}
