/**
 * Subscriptions of 2026-07-28 of one connection, until the server has started them. Each URI needs a decision. A subscription lasts
 * until the client leaves, so it is settled by its start.
 */
import { subscriptionsIn } from '../calls/other-params.js'
import type { ToolResult } from '../calls/result.js'
import { runCall } from '../calls/run-call.js'
import { type ReadCall, rebuilt } from '../calls/tool-params.js'
import { CANCELLED } from './awaited-response.js'
import type { MessageConnection, Sent } from './connection.js'
import { MAX_BATCH, type RequestId, type RequestMessage } from './json-rpc.js'
import type { PassedRequests } from './passed-requests.js'

export class AskedSubscriptions<ClientVia, ServerVia> {
  /** The subscriptions that await decisions. */
  readonly #asked = new Set<RequestId>()

  /** @param passed forwards permitted subscriptions */
  constructor(
    private readonly connection: MessageConnection<ClientVia, ServerVia>,
    private readonly passed: PassedRequests<ClientVia, ServerVia>,
  ) {}

  has(id: RequestId): boolean {
    return this.#asked.has(id)
  }

  /** Returns whether it was waiting for decisions. */
  cancel(id: RequestId): boolean {
    return this.#asked.delete(id)
  }

  listen(message: RequestMessage, read: ReadCall, sent: Sent<ClientVia>): void {
    const { id } = message
    const { rules } = this.connection.gate
    const asking = subscriptionsIn(read, sent)
    if (asking === undefined) {
      this.connection.refuse(id, sent.via, `resourceSubscriptions must be a list of up to ${MAX_BATCH} URIs`)
      return
    }
    const unread = read.fault === undefined ? [] : [read]
    const closed = [...unread, ...asking.filter((one) => !rules.passes(one.call))]
    this.#asked.add(id)
    void this.#begin(rebuilt(message, read), closed, sent)
  }

  /** Never rejects. @param closed the calls that need a decision, one after another */
  async #begin(message: RequestMessage, closed: readonly ReadCall[], sent: Sent<ClientVia>): Promise<void> {
    const { id } = message
    let hasBegun = false
    const begin = async (): Promise<ToolResult> => {
      this.connection.assertOpen()
      if (!this.#asked.delete(id)) throw CANCELLED
      hasBegun = true
      return this.connection.opening.resultFor(id, () => this.passed.pass(message, sent))
    }
    const ask = closed.reduceRight<() => Promise<ToolResult>>(
      (then, one) => () => runCall(this.connection.gate, { ...one, signal: sent.signal }, then),
      begin,
    )
    try {
      await ask()
    } catch (error) {
      // The client has already received the server's answer.
      if (!hasBegun) await this.#refused(id, error, sent.via)
    }
  }

  async #refused(id: RequestId, error: unknown, via: ClientVia): Promise<void> {
    const isCancelled = !this.#asked.delete(id)
    if (isCancelled || error === CANCELLED) this.connection.ways.dropped?.(via)
    else await this.connection.answerError(id, error, via)
  }
}
