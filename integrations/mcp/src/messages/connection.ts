/** One connection whose messages are gated: the ways to both sides, its open requests, and the errors that each side receives. */
import { randomUUID } from 'node:crypto'
import type { Caller } from '../calls/call.js'
import { RefusedCall, serverRequestRefused } from '../calls/refusals.js'
import type { ToolResult } from '../calls/result.js'
import { type ClientContext, envelopeOf } from '../calls/tool-params.js'
import type { ToolGate } from '../gate-options.js'
import type { ToolDefinitions } from '../lists/tool-definitions.js'
import { clientOf } from '../tasks/permitted-tasks.js'
import { AnswerLost, AnswerOfServer, AnswerTooLarge, UpstreamStatus } from './answer-errors.js'
import { AwaitedResponses, OwnRequests } from './awaited-response.js'
import {
  type AnsweredId,
  CONNECTION_CLOSED,
  errorMessage,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  type JsonRpcMessage,
  type ProtocolError,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
} from './json-rpc.js'
import { withGivenId } from './odd-ids.js'
import { PendingRequests } from './pending-requests.js'
import type { UsedIds } from './used-ids.js'
import { UserQuestions } from './user-questions.js'

/** For a request of the gate itself, such as for a page of the tool list, in milliseconds. */
const OWN_REQUEST_MS = 30_000

/** Where messages go. `via` is the value that came with the message of that side. */
export interface MessageWays<ClientVia, ServerVia> {
  /** Sends to the server. An error that it throws or rejects with is passed to `failed`. */
  toServer(message: JsonRpcMessage, via: ClientVia): void | Promise<void>
  /** Sends a message of the server to the client. */
  toClient(message: JsonRpcMessage, via: ServerVia): void | Promise<void>
  /** Sends the gate's own answer to the client. Errors are ignored: the client is gone. */
  answer(message: JsonRpcMessage, via: ClientVia): void | Promise<void>
  /**
   * Sends the gate's question for the user about the call of this id, or the cancellation of that question. The response comes
   * through `fromClient`. Without this way users are not asked.
   */
  ask?(message: JsonRpcMessage, via: ClientVia, call: RequestId): void | Promise<void>
  /** Sends the gate's own answer to the server. Errors are ignored: the server is gone. */
  answerServer(message: ResponseMessage, via: ServerVia): void | Promise<void>
  /** Called for a message of the client that is neither forwarded nor answered. */
  dropped?(via: ClientVia): void
}

/** What the gate knows of a message of the client in addition to its text, with the way for its answer. */
export interface Sent<ClientVia> extends ClientContext {
  readonly via: ClientVia
}

export class MessageConnection<ClientVia, ServerVia> {
  readonly pending: PendingRequests<ServerVia>
  /** Requests of the gate itself to the server. */
  readonly own = new OwnRequests()
  readonly questions: UserQuestions
  /**
   * Subscriptions of 2026-07-28 that the server has not started yet. Such a request stays open as long as its subscription. It has
   * started with the first notification that belongs to it, and failed with an error.
   */
  readonly opening = new AwaitedResponses()
  /** Identifies this connection for tasks. */
  readonly scope = randomUUID()
  #closed: string | undefined

  constructor(
    readonly gate: ToolGate,
    readonly ways: MessageWays<ClientVia, ServerVia>,
    readonly definitions: ToolDefinitions,
    used: UsedIds,
  ) {
    this.questions = new UserQuestions(gate)
    this.pending = new PendingRequests(used)
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /**
   * The server is gone. Answers open requests with an error; calls that may have run stay open. Resolves when the others are settled.
   */
  async close(reason: string): Promise<void> {
    this.#closed ??= reason
    const error = new AnswerLost(this.#closed)
    this.questions.failAll(error)
    this.own.failAll(error)
    await Promise.allSettled(this.pending.all.map((pending) => pending.fail(error)))
  }

  /** @throws AnswerLost after `close` */
  assertOpen(): void {
    if (this.#closed !== undefined) throw new AnswerLost(this.#closed)
  }

  /** Identifies the client for tasks. */
  clientOf(context: ClientContext): string {
    return clientOf(context, context.connection ?? this.scope)
  }

  /** Sends to the server. A request that cannot be sent is passed to `failed`. */
  forward(message: JsonRpcMessage, via: ClientVia): void {
    const fail = (error: unknown): void => {
      if ('method' in message && 'id' in message) this.failed(message.id, error).catch(() => undefined)
    }
    try {
      this.ways.toServer(message, via)?.catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  /** Sends a request of the gate itself, in the protocol of the caller. */
  async ask(method: string, asked: object, { meta }: Pick<Caller, 'meta'>, via: ClientVia): Promise<ToolResult> {
    this.assertOpen()
    const params = { ...asked, ...envelopeOf(meta) }
    return this.own.ask((id) => this.forward({ jsonrpc: '2.0', id, method, params }, via), OWN_REQUEST_MS)
  }

  /** The request with this id on the server's side gets no response. The client receives the error, which also settles a call. */
  async failed(id: RequestId, error: unknown): Promise<void> {
    this.own.fail(id, error)
    await this.pending.at(id)?.fail(error)
  }

  /** Sends the gate's own answer to the client. Never rejects. */
  async answer(message: JsonRpcMessage, via: ClientVia): Promise<void> {
    try {
      await this.ways.answer(message, via)
    } catch {
      // The client is gone.
    }
  }

  /** Never rejects. */
  async answerError(id: RequestId, error: unknown, via: ClientVia): Promise<void> {
    await this.answer(errorMessage(id, this.errorFor(error)), via)
  }

  refuse(id: RequestId | null, via: ClientVia, why: string): void {
    void this.answer(errorMessage(id, { code: INVALID_REQUEST, message: `Invalid Request: ${why}` }), via)
  }

  /** Never rejects. */
  async refuseServer({ id, method }: RequestMessage, via: ServerVia): Promise<void> {
    await this.answerServer(id, this.errorFor(new RefusedCall(serverRequestRefused(method))), via)
  }

  /** Sends the gate's own answer to a request of the server. Never rejects. */
  async answerServer(id: AnsweredId, error: ProtocolError, via: ServerVia): Promise<void> {
    try {
      await this.ways.answerServer(withGivenId(errorMessage(id, error)), via)
    } catch {
      // The server is gone.
    }
  }

  /** The error that the client receives. */
  errorFor(error: unknown): ProtocolError {
    if (error instanceof AnswerOfServer || error instanceof UpstreamStatus || error instanceof AnswerTooLarge)
      return error.told
    if (error instanceof RefusedCall) return { code: error.code, message: error.message, data: error.data }
    if (this.#closed !== undefined) return { code: CONNECTION_CLOSED, message: `Connection closed: ${this.#closed}` }
    return { code: INTERNAL_ERROR, message: 'Internal error: the server did not answer' }
  }
}
