/** Requests of one connection that pass without a decision, and what the client may see of the responses. */
import type { Caller } from '../calls/call.js'
import { closedInput } from '../calls/refusals.js'
import { type ClientContext, callerOf } from '../calls/tool-params.js'
import { LISTS, ListRelay, listIn, ownTasks } from '../lists/shown-lists.js'
import { TASK_LIST } from '../rules/methods.js'
import { AnswerLost } from './answer-errors.js'
import type { MessageConnection, Sent } from './connection.js'
import { errorMessage, isObject, type RequestMessage, type ResponseMessage } from './json-rpc.js'

export class PassedRequests<ClientVia, ServerVia> {
  readonly #lists: ListRelay
  /** The sender of the last request for a list. */
  #lastCaller: Caller = { authInfo: undefined, sessionId: undefined, meta: {} }
  /** The client of the last request for the list of tasks. */
  #lastClient: string

  constructor(private readonly connection: MessageConnection<ClientVia, ServerVia>) {
    this.#lists = new ListRelay(connection.gate, connection.definitions)
    this.#lastClient = connection.clientOf({})
  }

  pass(message: RequestMessage, sent: Sent<ClientVia>): void {
    const { id, method } = message
    const { pending } = this.connection
    const caller = callerOf(message, sent)
    if (LISTS.has(method)) this.#lastCaller = caller
    if (method === TASK_LIST) this.#lastClient = this.connection.clientOf(sent)
    const sentId = pending.sentIdOf(message)
    pending.takeUnwanted(sentId)
    pending.add(id, {
      sentId,
      isAskedAbout: false,
      respond: async (response, serverVia) => {
        pending.over(id)
        this.connection.opening.respond(id, response)
        this.#noteResult(message, response)
        if (LISTS.has(method)) await this.#show(response, caller, serverVia)
        else await this.connection.ways.toClient(this.#shown(message, response, sent), serverVia)
      },
      fail: async (error) => {
        pending.over(id)
        this.connection.opening.fail(id, error)
        await this.connection.answerError(id, error, sent.via)
      },
      cancel: () => {
        pending.over(id)
        this.connection.opening.fail(id, new AnswerLost('the request was cancelled'))
        pending.noteUnwanted(sentId)
        return true
      },
    })
    this.connection.forward({ ...message, id: sentId }, sent.via)
  }

  /** Shows a response once more, when a stream is resumed. Its request is no longer known. */
  async showAgain(response: ResponseMessage, via: ServerVia): Promise<void> {
    const { result } = response
    if (listIn(result) !== undefined) return this.#show(response, this.#lastCaller, via)
    const isTaskList = isObject(result) && Array.isArray(result.tasks)
    const shown = isTaskList ? this.#ownTasks(response, this.#lastClient) : this.#withoutClosedInput(response)
    await this.connection.ways.toClient(shown, via)
  }

  #show(list: ResponseMessage, caller: Caller, via: ServerVia): Promise<void> {
    return this.#lists.show(list, caller, (shown) => this.connection.ways.toClient(shown, via))
  }

  /** Responses to requests about tasks show how tasks end. */
  #noteResult({ method, params }: RequestMessage, { result }: ResponseMessage): void {
    const { gate, scope } = this.connection
    if (result === undefined) return
    if (method === 'tasks/result') gate.tasks.sawResult(scope, Object(params).taskId, result)
    if (method === 'tasks/get' || method === 'tasks/cancel') gate.tasks.sawStatus(scope, result)
  }

  /** The part of the response that the client may see. */
  #shown({ method, params }: RequestMessage, response: ResponseMessage, context: ClientContext): ResponseMessage {
    const client = this.connection.clientOf(context)
    if (method === TASK_LIST) return this.#ownTasks(response, client)
    const open = this.#withoutClosedInput(response)
    const { result } = open
    if (!isObject(result)) return open
    const worded = this.connection.gate.permittedTasks.withWords(client, method, Object(params).taskId, result)
    return worded === result ? open : { ...open, result: worded }
  }

  #ownTasks(response: ResponseMessage, client: string): ResponseMessage {
    const { result } = response
    return isObject(result) ? { ...response, result: ownTasks(this.connection.gate, client, result) } : response
  }

  #withoutClosedInput(response: ResponseMessage): ResponseMessage {
    const { id, result } = response
    const closed = isObject(result) ? closedInput(this.connection.gate, result) : undefined
    return closed === undefined ? response : errorMessage(id ?? null, this.connection.errorFor(closed))
  }
}
