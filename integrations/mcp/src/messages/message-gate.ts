/** The gate of one connection, for transports and proxies. The messages of both sides go through it. */
import type { ClientContext } from '../calls/tool-params.js'
import type { ToolGate } from '../gate-options.js'
import { ToolDefinitions } from '../lists/tool-definitions.js'
import { MessageConnection, type MessageWays } from './connection.js'
import { FromClient } from './from-client.js'
import { FromServer } from './from-server.js'
import type { JsonRpcMessage, RequestId } from './json-rpc.js'
import { PassedRequests } from './passed-requests.js'
import { UsedIds } from './used-ids.js'

export class MessageGate<ClientVia, ServerVia> {
  readonly #connection: MessageConnection<ClientVia, ServerVia>
  readonly #client: FromClient<ClientVia, ServerVia>
  readonly #server: FromServer<ClientVia, ServerVia>

  /**
   * @param definitions those of the server, if several connections lead to it
   * @param used the ids of earlier requests
   */
  constructor(
    gate: ToolGate,
    ways: MessageWays<ClientVia, ServerVia>,
    definitions: ToolDefinitions = new ToolDefinitions(gate),
    used: UsedIds = new UsedIds(),
  ) {
    this.#connection = new MessageConnection(gate, ways, definitions, used)
    const passed = new PassedRequests(this.#connection)
    this.#client = new FromClient(this.#connection, passed)
    this.#server = new FromServer(this.#connection, passed, (id) => this.#client.isTaken(id))
  }

  /** @param message a message or a batch, as `JSON.parse` or `parseJson` returned it */
  fromClient(message: unknown, via: ClientVia, context: ClientContext = {}): void {
    this.#client.take(message, via, context)
  }

  /**
   * Resolves when `toClient` has taken the message or its replacement, and rejects as `toClient` does.
   *
   * @param message a message or a batch, as `JSON.parse` or `parseJson` returned it
   * @param isReplay whether the client asked for messages that it may have received before
   */
  fromServer(message: unknown, via: ServerVia, isReplay = false): Promise<void> {
    return this.#server.take(message, via, isReplay)
  }

  /** The request with this id on the server's side gets no response. The client receives the error, which also settles a call. */
  failed(id: RequestId, error: unknown): Promise<void> {
    return this.#connection.failed(id, error)
  }

  /** Whether a request with this id on the server's side, of the client or of the gate itself, is open. */
  isPending(id: RequestId): boolean {
    return this.#connection.pending.at(id) !== undefined || this.#connection.own.isOpen(id)
  }

  /** Whether the open request with this id on the server's side is settled by its response. */
  isSettledByResponse(id: RequestId): boolean {
    return this.#connection.pending.at(id)?.isAskedAbout ?? false
  }

  /** The client's id of the open request with this id on the server's side. */
  clientIdOf(id: RequestId): RequestId {
    return this.#connection.pending.clientIdOf(id)
  }

  /** Whether the message is a request of the gate itself. Its response is not for the client. */
  isOwn(message: JsonRpcMessage): boolean {
    return 'method' in message && 'id' in message && this.#connection.own.isOwn(message.id)
  }

  /** Resolves when no request of the client awaits a decision or a response. */
  idle(): Promise<void> {
    return this.#connection.pending.idle()
  }

  /** The server is gone. Answers open requests with an error. Resolves when the calls that have not run are settled. */
  close(reason: string): Promise<void> {
    return this.#connection.close(reason)
  }
}
