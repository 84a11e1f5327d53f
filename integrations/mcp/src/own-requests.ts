/** Requests that the gate itself sends on a connection. Their responses go to the gate only. */
import { randomUUID } from 'node:crypto'
import { AnswerLost } from './called-message.js'
import type { RequestId, ResponseMessage } from './json-rpc.js'
import { PendingCall } from './pending-call.js'
import type { ToolResult } from './tool-result.js'

export class OwnRequests {
  /** Nobody who shares the connection can guess it, and the gate of a program behind this one has another. */
  readonly #prefix = `countersign:${randomUUID()}:`
  readonly #open = new Map<RequestId, PendingCall<undefined>>()
  #asked = 0

  /** Whether the id is one of these, open or not. */
  isOwn(id: unknown): boolean {
    return typeof id === 'string' && id.startsWith(this.#prefix)
  }

  isOpen(id: RequestId): boolean {
    return this.#open.has(id)
  }

  /**
   * What the other side has answered.
   *
   * @throws AnswerOfServer for an error; AnswerLost for what is neither, and
   * when time has run out; and what it is failed with
   */
  async ask(send: (id: string) => void, timeoutMs: number): Promise<ToolResult> {
    this.#asked += 1
    const id = `${this.#prefix}${this.#asked}`
    const pending = new PendingCall<undefined>()
    this.#open.set(id, pending)
    const late = setTimeout(() => pending.fail(new AnswerLost('time ran out')), timeoutMs)
    late.unref()
    try {
      return await pending.forward(() => send(id))
    } finally {
      clearTimeout(late)
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
    for (const pending of this.#open.values()) pending.fail(error)
  }
}
