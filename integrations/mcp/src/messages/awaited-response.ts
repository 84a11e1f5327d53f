/** Requests that are sent, until their responses arrive. */
import { randomUUID } from 'node:crypto'
import type { ToolResult } from '../calls/result.js'
import { AnswerLost, resultOf } from './answer-errors.js'
import type { RequestId, ResponseMessage } from './json-rpc.js'

/** The call was cancelled before it was forwarded. It gets no answer. */
export const CANCELLED = new DOMException('The call was cancelled', 'AbortError')

export class AwaitedResponse<ServerVia> {
  readonly #ending = new AbortController()
  #response: { resolve(response: ResponseMessage): void; reject(error: unknown): void } | undefined
  #isCancelled = false
  #answeredVia: { readonly via: ServerVia } | undefined

  get signal(): AbortSignal {
    return this.#ending.signal
  }

  get isForwarded(): boolean {
    return this.#response !== undefined
  }

  /** A cancelled call gets no answer. */
  get isCancelled(): boolean {
    return this.#isCancelled
  }

  /** Where the response came from. Undefined until it arrives. */
  get answeredVia(): { readonly via: ServerVia } | undefined {
    return this.#answeredVia
  }

  /** @throws as `resultOf`; the error that `fail` received */
  async forward(send: () => void): Promise<ToolResult> {
    const response = new Promise<ResponseMessage>((resolve, reject) => {
      this.#response = { resolve, reject }
    })
    send()
    return resultOf(await response)
  }

  /** Returns false if this is not the response: a server cannot answer a request that it did not receive, or answer twice. */
  respond(response: ResponseMessage, via: ServerVia): boolean {
    if (this.#response === undefined || this.#answeredVia !== undefined) return false
    this.#answeredVia = { via }
    this.#response.resolve(response)
    return true
  }

  fail(error: unknown): void {
    if (this.#response === undefined) this.#ending.abort(error)
    else if (this.#answeredVia === undefined) this.#response.reject(error)
  }

  /** A forwarded call continues, and is settled by its end. */
  cancel(): void {
    this.#isCancelled = true
    this.#ending.abort(CANCELLED)
  }
}

/** Requests that were sent here, by the ids that the other side knows. Their responses are not relayed. */
export class AwaitedResponses {
  readonly #open = new Map<RequestId, AwaitedResponse<undefined>>()

  isOpen(id: RequestId): boolean {
    return this.#open.has(id)
  }

  /** @throws AnswerOfServer for an error; AnswerLost for an invalid response; the error that `fail` received */
  async resultFor(id: RequestId, send: () => void): Promise<ToolResult> {
    const awaited = new AwaitedResponse<undefined>()
    this.#open.set(id, awaited)
    try {
      return await awaited.forward(send)
    } finally {
      this.#open.delete(id)
    }
  }

  respond(id: RequestId, response: ResponseMessage): void {
    this.#open.get(id)?.respond(response, undefined)
  }

  fail(id: RequestId, error: unknown): void {
    this.#open.get(id)?.fail(error)
  }

  failAll(error: unknown): void {
    for (const awaited of this.#open.values()) awaited.fail(error)
  }
}

/** Requests that the gate itself sends on a connection. Only the gate receives their responses. */
export class OwnRequests extends AwaitedResponses {
  /** No client of the connection can guess it, and every gate on the way has another. */
  readonly #prefix = `countersign:${randomUUID()}:`
  #asked = 0

  /** Whether the id belongs to such a request, open or not. */
  isOwn(id: unknown): boolean {
    return typeof id === 'string' && id.startsWith(this.#prefix)
  }

  /** @throws as `resultFor`; AnswerLost when time runs out */
  async ask(send: (id: string) => void, timeoutMs: number): Promise<ToolResult> {
    this.#asked += 1
    const id = `${this.#prefix}${this.#asked}`
    const late = setTimeout(() => this.fail(id, new AnswerLost('time ran out')), timeoutMs)
    late.unref()
    try {
      return await this.resultFor(id, () => send(id))
    } finally {
      clearTimeout(late)
    }
  }
}
