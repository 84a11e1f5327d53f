/** The sessions of one upstream. Each has its own gate, and belongs to the client that opened it. */
import type { ToolGate } from '../../gate-options.js'
import { ToolDefinitions } from '../../lists/tool-definitions.js'
import type { MessageWays } from '../../messages/connection.js'
import type { JsonRpcMessage } from '../../messages/json-rpc.js'
import { MessageGate } from '../../messages/message-gate.js'
import { UsedIds } from '../../messages/used-ids.js'

/** The most sessions of one client. The least recently used one is forgotten first. */
const MAX_SESSIONS = 1000

/** Sends a message of the server to the client, on the stream on which it arrived. */
export type Deliver = (message: JsonRpcMessage) => void | Promise<void>

/** A message of the client on its way through the gate. */
export interface PostedMessage {
  toServer(message: JsonRpcMessage): void | Promise<void>
  answer(message: JsonRpcMessage): void | Promise<void>
  dropped(): void
}

/** An open answer of the server. */
export interface OpenStream {
  /** Whether the client may resume this stream after the event with this id. */
  hasSent(eventId: string): boolean
  /** Sends the gate's own answer to the server. @throws Node's error for a failed connection */
  tellServer(message: JsonRpcMessage): Promise<void>
  /** The client continues on another stream. Resolves when the server's answer is closed. */
  leave(): Promise<void>
}

export class HttpSession {
  /** The server's id of the session. Undefined until the server sends one; some servers never do. */
  id: string | undefined
  readonly gate: MessageGate<PostedMessage, Deliver>
  readonly #streams = new Set<OpenStream>()
  /** Whether later requests can belong to the session. */
  #isRemembered = false

  constructor(
    gate: ToolGate,
    /** The agent that opened the session. Undefined if clients have no tokens. */
    readonly owner: string | undefined,
    definitions = new ToolDefinitions(gate),
    used = new UsedIds(),
  ) {
    const ways: MessageWays<PostedMessage, Deliver> = {
      toServer: (message, posted) => posted.toServer(message),
      toClient: (message, deliver) => deliver(message),
      answer: (message, posted) => posted.answer(message),
      // The server sent its request on one of them.
      answerServer: (message) => this.#streams.values().next().value?.tellServer(message),
      dropped: (posted) => posted.dropped(),
    }
    this.gate = new MessageGate(gate, ways, definitions, used)
  }

  get isIdle(): boolean {
    return this.#streams.size === 0
  }

  enter(stream: OpenStream): void {
    this.#streams.add(stream)
  }

  /** Closes a session that no later request can continue. */
  async leave(stream: OpenStream): Promise<void> {
    this.#streams.delete(stream)
    if (!this.#isRemembered && this.isIdle) await this.gate.close('the session has ended')
  }

  /** Later requests can belong to the session. */
  remember(): void {
    this.#isRemembered = true
  }

  /** Open streams end by themselves. A call whose session is gone did not run. */
  forget(): void {
    this.#isRemembered = false
    if (this.isIdle) void this.gate.close('the session has ended')
  }

  /** Closes the stream with this event, so that the server allows the client to resume it. */
  async takeUp(eventId: string): Promise<void> {
    await Promise.all([...this.#streams].filter((stream) => stream.hasSent(eventId)).map((stream) => stream.leave()))
  }
}

export class HttpSessions {
  /** In the order of their last use. */
  readonly #sessions = new Map<string, HttpSession>()
  readonly #definitions: ToolDefinitions
  readonly #adoptsUnknown: boolean

  /** @param adoptsUnknown whether clients may continue sessions that were opened elsewhere; safe if all clients are one agent */
  constructor(
    private readonly gate: ToolGate,
    { adoptsUnknown }: { readonly adoptsUnknown: boolean },
  ) {
    this.#definitions = new ToolDefinitions(gate)
    this.#adoptsUnknown = adoptsUnknown
  }

  /** Opens a session that has no id yet. */
  open(owner: string | undefined): HttpSession {
    return new HttpSession(this.gate, owner)
  }

  /**
   * A session for one request to a server without sessions, which shows all clients the same tools.
   *
   * @param isResuming whether the request resumes the stream of an unknown earlier request, which could belong to another client
   */
  passing(owner: string | undefined, isResuming: boolean): HttpSession {
    return new HttpSession(this.gate, owner, this.#definitions, new UsedIds(!(isResuming && this.#adoptsUnknown)))
  }

  /** Undefined if the owner has no such session. */
  find(id: string, owner: string | undefined): HttpSession | undefined {
    const known = this.#sessions.get(id)
    if (known === undefined) return this.#adoptsUnknown ? this.#adopted(id, owner) : undefined
    if (known.owner !== owner) return undefined
    this.#sessions.delete(id)
    this.#sessions.set(id, known)
    return known
  }

  /** Notes the server's id of the session. Returns false if another owner has a session with this id. */
  name(session: HttpSession, id: string): boolean {
    const known = this.#sessions.get(id)
    if (known !== undefined && known.owner !== session.owner) return false
    if (known !== undefined) this.end(known)
    session.id = id
    session.remember()
    this.#sessions.set(id, session)
    this.#forgetOne(session.owner)
    return true
  }

  end(session: HttpSession): void {
    if (session.id !== undefined && this.#sessions.get(session.id) === session) this.#sessions.delete(session.id)
    session.forget()
  }

  /** Resolves when all open requests are answered and settled. */
  async endAll(reason: string): Promise<void> {
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(sessions.map(({ gate }) => gate.close(reason)))
  }

  #adopted(id: string, owner: string | undefined): HttpSession {
    // Responses to earlier requests may arrive again.
    const session = new HttpSession(this.gate, owner, undefined, new UsedIds(false))
    this.name(session, id)
    return session
  }

  #forgetOne(owner: string | undefined): void {
    const owned = [...this.#sessions.values()].filter((session) => session.owner === owner)
    if (owned.length <= MAX_SESSIONS) return
    this.end(owned.find(({ isIdle }) => isIdle) ?? owned[0]!)
  }
}
