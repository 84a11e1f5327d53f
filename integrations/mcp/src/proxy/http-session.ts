/** The sessions of one upstream. Each has its own gate, and belongs to the client that opened it. */
import type { ToolGate } from '../gate-options.js'
import type { JsonRpcMessage } from '../json-rpc.js'
import { MessageGate, type MessageWays } from '../message-gate.js'
import { ToolDefinitions } from '../tool-definitions.js'
import { UsedIds } from '../used-ids.js'

/** Sessions of one client that are remembered. Of more, the one that was used least recently is forgotten. */
const MAX_SESSIONS = 1000

/** Hands a message of the server to the client, on the stream that it came by. */
export type Deliver = (message: JsonRpcMessage) => void | Promise<void>

/** A message of the client, on its way through the gate. */
export interface PostedMessage {
  toServer(message: JsonRpcMessage): void | Promise<void>
  answer(message: JsonRpcMessage): void | Promise<void>
  dropped(): void
}

/** An answer of the server that is open. */
export interface OpenStream {
  /** Whether the client may take this very stream up after the event of this id. */
  hasSent(eventId: string): boolean
  /** The client goes on elsewhere. Resolves when the server's answer is closed. */
  leave(): Promise<void>
}

export class HttpSession {
  /** As the server calls it; undefined as long as it has not said so, and with servers that have no sessions. */
  id: string | undefined
  /** The agent that opened it; undefined where clients have no tokens. */
  readonly owner: string | undefined
  readonly gate: MessageGate<PostedMessage, Deliver>
  readonly #streams = new Set<OpenStream>()
  /** As long as requests to come can be part of it. */
  #isRemembered = false

  constructor(
    gate: ToolGate,
    owner: string | undefined,
    definitions = new ToolDefinitions(gate),
    used = new UsedIds(),
  ) {
    this.owner = owner
    const ways: MessageWays<PostedMessage, Deliver> = {
      toServer: (message, posted) => posted.toServer(message),
      toClient: (message, deliver) => deliver(message),
      answer: (message, posted) => posted.answer(message),
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

  /** What is pending then can only be answered to requests to come. */
  async leave(stream: OpenStream): Promise<void> {
    this.#streams.delete(stream)
    if (!this.#isRemembered && this.isIdle) await this.gate.close('the session has ended')
  }

  /** Requests to come are part of it. */
  remember(): void {
    this.#isRemembered = true
  }

  /** Of what is open each ends by itself: a call that finds the session gone did not run. */
  forget(): void {
    this.#isRemembered = false
    if (this.isIdle) void this.gate.close('the session has ended')
  }

  /** Closes the stream with this event, so that the server lets it be taken up. */
  async takeUp(eventId: string): Promise<void> {
    await Promise.all([...this.#streams].filter((stream) => stream.hasSent(eventId)).map((stream) => stream.leave()))
  }
}

export class HttpSessions {
  /** In the order of their last use. */
  readonly #sessions = new Map<string, HttpSession>()
  readonly #gate: ToolGate
  readonly #definitions: ToolDefinitions
  readonly #adoptsUnknown: boolean

  /** @param adoptsUnknown whether a session that nobody has opened here may be gone on with: where all clients are one agent */
  constructor(gate: ToolGate, { adoptsUnknown }: { readonly adoptsUnknown: boolean }) {
    this.#gate = gate
    this.#definitions = new ToolDefinitions(gate)
    this.#adoptsUnknown = adoptsUnknown
  }

  /** One that is not known by any id yet. */
  open(owner: string | undefined): HttpSession {
    return new HttpSession(this.#gate, owner)
  }

  /** Of one request to a server without sessions: it shows the same tools in all of them. */
  passing(owner: string | undefined): HttpSession {
    return new HttpSession(this.#gate, owner, this.#definitions)
  }

  /** Undefined where this owner has no such session. */
  find(id: string, owner: string | undefined): HttpSession | undefined {
    const known = this.#sessions.get(id)
    if (known === undefined) return this.#adoptsUnknown ? this.#adopted(id, owner) : undefined
    if (known.owner !== owner) return undefined
    this.#sessions.delete(id)
    this.#sessions.set(id, known)
    return known
  }

  /** The server has given the session this id. False where it is somebody else's. */
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

  /** Resolves when all that was pending is answered and settled. */
  async endAll(reason: string): Promise<void> {
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(sessions.map(({ gate }) => gate.close(reason)))
  }

  #adopted(id: string, owner: string | undefined): HttpSession {
    // What it was asked before can be answered once more.
    const session = new HttpSession(this.#gate, owner, undefined, new UsedIds(false))
    this.name(session, id)
    return session
  }

  #forgetOne(owner: string | undefined): void {
    const owned = [...this.#sessions.values()].filter((session) => session.owner === owner)
    if (owned.length <= MAX_SESSIONS) return
    this.end(owned.find(({ isIdle }) => isIdle) ?? owned[0]!)
  }
}
