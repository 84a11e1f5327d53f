/** Takes the messages of a server: responses settle their requests, and the client receives what it may see. */
import { excessOf, keepText } from '../json/exact-json.js'
import { AnswerTooLarge } from './answer-errors.js'
import type { MessageConnection } from './connection.js'
import {
  asksForAnswer,
  INVALID_REQUEST,
  type Incoming,
  isRequestId,
  type NotificationMessage,
  type RequestId,
  readMessage,
} from './json-rpc.js'
import { withRelayedId } from './odd-ids.js'
import type { PassedRequests } from './passed-requests.js'
import { SUBSCRIPTION_ID } from './protocol.js'

export class FromServer<ClientVia, ServerVia> {
  /** @param isTaken whether the client has an open request with this id */
  constructor(
    private readonly connection: MessageConnection<ClientVia, ServerVia>,
    private readonly passed: PassedRequests<ClientVia, ServerVia>,
    private readonly isTaken: (id: RequestId) => boolean,
  ) {}

  /**
   * Resolves when `toClient` has taken the message or its replacement, and rejects as `toClient` does.
   *
   * @param message a message or a batch, as `JSON.parse` or `parseJson` returned it
   * @param isReplay whether the client asked for messages that it may have received before
   */
  async take(message: unknown, via: ServerVia, isReplay = false): Promise<void> {
    if (Array.isArray(message)) {
      const messages = message.filter((one) => !Array.isArray(one))
      await Promise.all(messages.map((one) => this.take(one, via, isReplay)))
      return
    }
    const relayed = withRelayedId(message)
    const read = readMessage(relayed)
    const excess = excessOf(message)
    if (excess !== undefined) return this.#failUnread(read, excess, via)
    if (read.kind === 'invalid')
      // A message that expects no answer is dropped silently.
      return asksForAnswer(relayed) ? this.connection.answerServer(read.id ?? null, read.error, via) : undefined
    keepText(Object(relayed), read.message)
    if (read.kind === 'notification') this.#noteNotification(read.message)
    if (read.kind === 'request' && !this.#reachesClient(read.message.method))
      return this.connection.refuseServer(read.message, via)
    if (read.kind !== 'response' || !isRequestId(read.message.id))
      return this.connection.ways.toClient(read.message, via)
    const { id } = read.message
    if (this.connection.own.isOwn(id)) return this.connection.own.respond(id, read.message)
    const pending = this.connection.pending.at(id)
    const clientId = this.connection.pending.clientIdOf(id)
    if (pending !== undefined)
      return pending.respond(clientId === id ? read.message : { ...read.message, id: clientId }, via)
    const wasAnswered = this.connection.pending.wasAnswered(id)
    // Otherwise the client could take it for the response to a newer request with the same id.
    if (wasAnswered && (isReplay || !this.isTaken(id))) await this.passed.showAgain(read.message, via)
  }

  /** Only the id and the kind of a message that is too large are known. */
  async #failUnread(read: Incoming, excess: string, via: ServerVia): Promise<void> {
    if (read.kind === 'request') {
      const error = { code: INVALID_REQUEST, message: `Invalid Request: the request has more than ${excess}` }
      await this.connection.answerServer(read.message.id, error, via)
    } else if (read.kind === 'response' && isRequestId(read.message.id))
      await this.connection.failed(read.message.id, new AnswerTooLarge(excess))
  }

  #noteNotification(message: NotificationMessage): void {
    const { method, params } = message
    const begun: unknown = Object(Object(params)._meta)[SUBSCRIPTION_ID]?.valueOf()
    if (isRequestId(begun)) this.connection.opening.respond(begun, { jsonrpc: '2.0', id: begun, result: {} })
    if (method === 'notifications/tools/list_changed') this.connection.definitions.listChanged()
    if (method === 'notifications/tasks/status') this.connection.gate.tasks.sawStatus(this.connection.scope, params)
  }

  #reachesClient(method: string): boolean {
    const { point, rules } = this.connection.gate
    return point.mode === 'observe' || rules.passesToClient(method)
  }
}
