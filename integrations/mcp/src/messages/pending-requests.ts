/** The open requests of a client, and the ids by which both sides know them. */
import { LISTEN, PASSING_REQUESTS } from '../rules/methods.js'
import { AnswerLost } from './answer-errors.js'
import type { RequestId, RequestMessage, ResponseMessage } from './json-rpc.js'
import type { UsedIds } from './used-ids.js'

export interface Pending<ServerVia> {
  /** The id on the server's side. */
  readonly sentId: RequestId
  readonly isAskedAbout: boolean
  respond(response: ResponseMessage, via: ServerVia): Promise<void>
  /** The request gets no response. */
  fail(error: unknown): Promise<void>
  /** The client no longer waits. Returns whether the server needs to know. */
  cancel(): boolean
}

/** Calls that were cancelled after they were forwarded. A server does not have to answer them. */
const MAX_CANCELLED = 100
/** Other cancelled requests. A server may have answered them already. */
const MAX_UNWANTED = 1_000
export class PendingRequests<ServerVia> {
  /** By the id of the client. */
  readonly #pending = new Map<RequestId, Pending<ServerVia>>()
  /** The client's ids of open calls that the server knows by an id of the gate. */
  readonly #clientIds = new Map<RequestId, RequestId>()
  readonly #cancelled = new Set<RequestId>()
  /** The server's ids of cancelled requests. Their responses are dropped. */
  readonly #unwanted = new Set<RequestId>()
  readonly #awaitIdle: (() => void)[] = []

  /** @param used the ids of earlier requests */
  constructor(private readonly used: UsedIds) {}

  get size(): number {
    return this.#pending.size
  }

  get all(): readonly Pending<ServerVia>[] {
    return [...this.#pending.values()]
  }

  /** By the id of the client. */
  get(id: RequestId): Pending<ServerVia> | undefined {
    return this.#pending.get(id)
  }

  add(id: RequestId, pending: Pending<ServerVia>): void {
    this.#pending.set(id, pending)
  }

  /** Whether either side uses this id for an open request. */
  isTaken(id: RequestId): boolean {
    return this.#pending.has(id) || this.isGiven(id)
  }

  /** Whether the gate has replaced another id with this one. */
  isGiven(id: RequestId): boolean {
    return this.#clientIds.has(id)
  }

  /** The client's id of the open request with this id on the server's side. */
  clientIdOf(id: RequestId): RequestId {
    return this.#clientIds.get(id) ?? id
  }

  /** Returns once whether the response with this id must be dropped. */
  takeUnwanted(sentId: RequestId): boolean {
    return this.#unwanted.delete(sentId)
  }

  /** Whether a response to no open request repeats one that the client has received. */
  wasAnswered(id: RequestId): boolean {
    return !this.takeUnwanted(id) && this.used.hasHad(id)
  }

  async idle(): Promise<void> {
    if (this.size > 0) await new Promise<void>((resolve) => this.#awaitIdle.push(resolve))
  }

  at(sentId: RequestId): Pending<ServerVia> | undefined {
    const pending = this.#pending.get(this.clientIdOf(sentId))
    return pending?.sentId === sentId ? pending : undefined
  }

  /** The id on the server's side: the client's own, unless the response to an earlier request could be taken for this one's. */
  sentIdOf({ id, method }: RequestMessage): RequestId {
    if (this.used.isNew(id) || PASSING_REQUESTS.has(method) || method === LISTEN) return id
    const sentId = this.used.another()
    this.#clientIds.set(sentId, id)
    return sentId
  }

  over(id: RequestId): void {
    this.#clientIds.delete(this.#pending.get(id)?.sentId ?? id)
    this.#pending.delete(id)
    this.#cancelled.delete(id)
    if (this.#pending.size === 0) for (const resolve of this.#awaitIdle.splice(0)) resolve()
  }

  noteUnwanted(sentId: RequestId): void {
    this.#unwanted.add(sentId)
    const [oldest] = this.#unwanted
    if (oldest !== undefined && this.#unwanted.size > MAX_UNWANTED) this.#unwanted.delete(oldest)
  }

  noteCancelled(id: RequestId): void {
    this.#cancelled.add(id)
    const [oldest] = this.#cancelled
    if (oldest === undefined || this.#cancelled.size <= MAX_CANCELLED) return
    this.#cancelled.delete(oldest)
    const pending = this.#pending.get(oldest)
    if (pending === undefined) return
    this.noteUnwanted(pending.sentId)
    pending.fail(new AnswerLost('the call was cancelled')).catch(() => undefined)
  }
}
