/**
 * Gates the messages of one connection, for transports and proxies. The gate asks for a decision about each `tools/call` and settles it
 * by its response. Everything else passes in order.
 */
import { randomUUID } from 'node:crypto'
import type { ActionOutcome } from '@countersign/client'
import type { Brought } from './call-leg.js'
import {
  AnswerLost,
  AnswerOfServer,
  type ClientContext,
  callerOf,
  capabilitiesIn,
  envelopeOf,
  ownResult,
  type ReadCall,
  readCall,
} from './called-message.js'
import { type Elicit, type ElicitParams, takesForms } from './elicitation.js'
import type { ToolGate } from './gate-options.js'
import type { Caller } from './gated-call.js'
import { gateToolCall, RefusedCall } from './gated-tool-call.js'
import {
  CONNECTION_CLOSED,
  errorMessage,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isBatch,
  isObject,
  isRequestId,
  type JsonRpcMessage,
  MAX_BATCH,
  type NotificationMessage,
  type ProtocolError,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
  readMessage,
} from './json-rpc.js'
import { OwnRequests } from './own-requests.js'
import { CANCELLED, PendingCall } from './pending-call.js'
import { taskOf } from './tasks.js'
import { ToolDefinitions } from './tool-definitions.js'
import { shownTools } from './tool-list.js'
import type { ToolListPage } from './tool-pages.js'
import type { ToolResult } from './tool-result.js'
import { UsedIds } from './used-ids.js'

/** Where messages go. `via` is what was given with the message of that side. */
export interface MessageWays<ClientVia, ServerVia> {
  /** To the server. What it throws, or rejects with, counts as `failed`. */
  toServer(message: JsonRpcMessage, via: ClientVia): void | Promise<void>
  /** To the client, what the server has sent. */
  toClient(message: JsonRpcMessage, via: ServerVia): void | Promise<void>
  /** To the client, what the gate itself answers to a message of the client. What it throws is ignored: the client is gone. */
  answer(message: JsonRpcMessage, via: ClientVia): void | Promise<void>
  /**
   * To the client, what the gate itself asks its user about a call of this id: a request whose response comes by `fromClient`, or that
   * it needs no response any more. Without it users are not asked.
   */
  ask?(message: JsonRpcMessage, via: ClientVia, call: RequestId): void | Promise<void>
  /** Nothing will come of a message of the client: it is neither forwarded nor answered. */
  dropped?(via: ClientVia): void
}

/** A call on its way. */
interface SentCall<ClientVia> {
  readonly message: RequestMessage
  /** As the server knows it. */
  readonly sentId: RequestId
  readonly via: ClientVia
  readonly endOfTask: () => Promise<ActionOutcome>
}

/** A request that the server has not answered yet. */
interface Pending<ServerVia> {
  /** The id by which the server answers it. */
  readonly sentId: RequestId
  respond(response: ResponseMessage, via: ServerVia): Promise<void>
  /** There will be no response. */
  fail(error: unknown): Promise<void>
  /** The client does not wait for it any more. Gives whether the server is to be told so. */
  cancel(): boolean
}

const MAX_PENDING = 10_000
/** Of calls that were cancelled after they had been forwarded: no server has to answer those. */
const MAX_CANCELLED = 100
/** For a page of the list of tools, in milliseconds. */
const LIST_MS = 30_000

export class MessageGate<ClientVia, ServerVia> {
  readonly #gate: ToolGate
  readonly #ways: MessageWays<ClientVia, ServerVia>
  /** By the id that the client has given. */
  readonly #pending = new Map<RequestId, Pending<ServerVia>>()
  readonly #used: UsedIds
  /** What pending calls are called by the client that the server knows by an id of the gate. */
  readonly #clientIds = new Map<RequestId, RequestId>()
  readonly #cancelled = new Set<RequestId>()
  readonly #toServer = new OwnRequests()
  readonly #toClient = new OwnRequests()
  /** Names this connection among those of the gate, for tasks. */
  readonly #scope = randomUUID()
  readonly #awaitIdle: (() => void)[] = []
  readonly #definitions: ToolDefinitions
  /** The lists that the client is yet to be shown, in order. */
  #lists: Promise<unknown> = Promise.resolve()
  #lastCaller: Caller = { authInfo: undefined, sessionId: undefined, meta: {} }
  #clientCapabilities: unknown
  #closed: string | undefined

  /**
   * @param definitions those of the server, where several connections lead to it
   * @param used ids that requests of before have had
   */
  constructor(
    gate: ToolGate,
    ways: MessageWays<ClientVia, ServerVia>,
    definitions: ToolDefinitions = new ToolDefinitions(gate),
    used: UsedIds = new UsedIds(),
  ) {
    this.#used = used
    this.#gate = gate
    this.#ways = ways
    this.#definitions = definitions
  }

  /** @param message what `JSON.parse` gave: a message, or a batch of them */
  fromClient(message: unknown, via: ClientVia, context: ClientContext = {}): void {
    if (Array.isArray(message)) {
      if (isBatch(message)) for (const one of message) this.fromClient(one, via, context)
      else this.#refuse(null, via, `a batch has 1 to ${MAX_BATCH} messages`)
      return
    }
    const read = readMessage(message)
    if (read.kind === 'request') this.#request(read.message, via, context)
    else if (read.kind === 'notification') this.#notification(read.message, via)
    else if (read.kind === 'response') this.#response(read.message, via)
    else if (read.id === undefined) this.#ways.dropped?.(via)
    else void this.#answer(errorMessage(read.id, read.error), via)
  }

  /**
   * Resolves when `toClient` has taken the message or its replacement, and rejects as `toClient` does.
   *
   * @param message what `JSON.parse` gave: a message, or a batch of them
   */
  async fromServer(message: unknown, via: ServerVia): Promise<void> {
    if (Array.isArray(message)) {
      const messages = message.filter((one) => !Array.isArray(one))
      await Promise.all(messages.map((one) => this.fromServer(one, via)))
      return
    }
    const read = readMessage(message)
    if (read.kind === 'invalid') return
    if (read.kind === 'notification') this.#noteNotification(read.message)
    if (read.kind !== 'response' || !isRequestId(read.message.id)) return this.#ways.toClient(read.message, via)
    const { id, result } = read.message
    if (this.#toServer.isOwn(id)) return this.#toServer.respond(id, read.message)
    const pending = this.#pendingAt(id)
    if (pending !== undefined) return pending.respond({ ...read.message, id: this.clientIdOf(id) }, via)
    // A stream that is resumed brings once more what was answered before.
    if (isObject(result) && Array.isArray(result.tools)) return this.#showList(read.message, via, this.#lastCaller)
    return this.#ways.toClient(read.message, via)
  }

  /** The request that the server got by this id will have no response: the client is told so, and a call is settled by the error. */
  async failed(id: RequestId, error: unknown): Promise<void> {
    this.#toServer.fail(id, error)
    await this.#pendingAt(id)?.fail(error)
  }

  /** Whether a request, of the client or of the gate itself, that the server got by this id has no response yet. */
  isPending(id: RequestId): boolean {
    return this.#pendingAt(id) !== undefined || this.#toServer.isOpen(id)
  }

  /** What the client calls the pending request that the server got by this id. */
  clientIdOf(id: RequestId): RequestId {
    return this.#clientIds.get(id) ?? id
  }

  /** Whether the gate itself asks this of the server: what it is answered is for nobody else. */
  isOwn(message: JsonRpcMessage): boolean {
    return 'method' in message && 'id' in message && this.#toServer.isOwn(message.id)
  }

  /** Resolves when no request of the client is being asked about or awaits its response. */
  async idle(): Promise<void> {
    if (this.#pending.size > 0) await new Promise<void>((resolve) => this.#awaitIdle.push(resolve))
  }

  /** The server is gone. Answers pending requests with an error; calls that may have run stay open. Resolves when the others are settled. */
  async close(reason: string): Promise<void> {
    this.#closed ??= reason
    const error = new AnswerLost(this.#closed)
    this.#toServer.failAll(error)
    this.#toClient.failAll(error)
    await Promise.allSettled([...this.#pending.values()].map((pending) => pending.fail(error)))
  }

  #request(message: RequestMessage, via: ClientVia, context: ClientContext): void {
    const { id, method } = message
    if (this.#closed !== undefined) void this.#answer(errorMessage(id, this.#errorFor(undefined)), via)
    else if (this.#pending.has(id) || this.#clientIds.has(id) || this.#toServer.isOwn(id))
      this.#refuse(id, via, 'a request with this id is pending')
    else if (this.#pending.size >= MAX_PENDING) this.#refuse(id, via, 'too many requests are pending')
    else if (method === 'tools/call') this.#call(message, via, context)
    else this.#pass(message, via, context)
  }

  #notification(message: NotificationMessage, via: ClientVia): void {
    const { method, params } = message
    if (method === 'notifications/cancelled' && isObject(params) && isRequestId(params.requestId))
      this.#cancel(message, { ...params, requestId: params.requestId }, via)
    // A call without an id would run, and nothing would ever settle it.
    else if (method === 'tools/call') this.#ways.dropped?.(via)
    else this.#forward(message, via)
  }

  #cancel(message: NotificationMessage, params: { readonly requestId: RequestId }, via: ClientVia): void {
    const { requestId } = params
    const pending = this.#pending.get(requestId)
    const isOfGate = this.#toServer.isOwn(requestId) || this.#clientIds.has(requestId)
    if (pending?.cancel() ?? !isOfGate)
      this.#forward({ ...message, params: { ...params, requestId: pending?.sentId ?? requestId } }, via)
    else this.#ways.dropped?.(via)
  }

  #response(message: ResponseMessage, via: ClientVia): void {
    const { id } = message
    if (isRequestId(id) && this.#toClient.isOwn(id)) {
      this.#toClient.respond(id, message)
      this.#ways.dropped?.(via)
    } else this.#forward(message, via)
  }

  #noteNotification({ method, params }: NotificationMessage): void {
    if (method === 'notifications/tools/list_changed') this.#definitions.listChanged()
    if (method === 'notifications/tasks/status') this.#gate.tasks.sawStatus(this.#scope, params)
  }

  /** What the server has answered to a request tells how tasks have ended. */
  #noteResult({ method, params }: RequestMessage, { result }: ResponseMessage): void {
    if (result === undefined) return
    if (method === 'tasks/result') this.#gate.tasks.sawResult(this.#scope, Object(params).taskId, result)
    if (method === 'tasks/get' || method === 'tasks/cancel') this.#gate.tasks.sawStatus(this.#scope, result)
  }

  /** A request of any other method. */
  #pass(message: RequestMessage, via: ClientVia, context: ClientContext): void {
    const { id, method } = message
    const caller = callerOf(message, context)
    if (method === 'tools/list') this.#lastCaller = caller
    if (method === 'initialize') this.#clientCapabilities = Object(message.params).capabilities
    const sentId = this.#sentIdOf(message)
    this.#pending.set(id, {
      sentId,
      respond: async (response, serverVia) => {
        this.#over(id)
        this.#noteResult(message, response)
        if (method === 'tools/list') await this.#showList(response, serverVia, caller)
        else await this.#ways.toClient(response, serverVia)
      },
      fail: async (error) => {
        this.#over(id)
        await this.#answer(errorMessage(id, this.#errorFor(error)), via)
      },
      cancel: () => {
        this.#over(id)
        return true
      },
    })
    this.#forward({ ...message, id: sentId }, via)
  }

  #call(message: RequestMessage, via: ClientVia, context: ClientContext): void {
    const { id } = message
    const read = readCall(message, context)
    if ('code' in read) return void this.#answer(errorMessage(id, read), via)
    const call = new PendingCall<ServerVia>()
    const sentId = this.#sentIdOf(message)
    const onGone = (): void => {
      if (!call.isForwarded) call.cancel()
    }
    if (context.signal?.aborted) onGone()
    context.signal?.addEventListener('abort', onGone, { once: true })
    let end: Promise<ActionOutcome> | undefined
    // Noted when it begins: what comes right after it may tell how it ends.
    const noteTask = (result: unknown): void => {
      const taskId = taskOf(Object(result))
      if (taskId !== undefined) end = this.#gate.tasks.endOf(this.#scope, taskId)
    }
    const endOfTask = async (): Promise<ActionOutcome> => (await end) ?? { kind: 'unknown' }
    const over = this.#end(call, read, { message, sentId, via, endOfTask }).finally(() => {
      context.signal?.removeEventListener('abort', onGone)
      this.#over(id)
    })
    over.catch(() => undefined)
    this.#pending.set(id, {
      sentId,
      respond: async (response, serverVia) => {
        if (!call.respond(response, serverVia)) return
        noteTask(response.result)
        await over
      },
      fail: (error) => {
        call.fail(error)
        return over
      },
      cancel: () => {
        call.cancel()
        if (call.isForwarded) this.#noteCancelled(id)
        return call.isForwarded
      },
    })
  }

  /** Rejects as `toClient` does. */
  async #end(
    call: PendingCall<ServerVia>,
    { paramsWith, ...read }: ReadCall,
    { message, sentId, via, endOfTask }: SentCall<ClientVia>,
  ): Promise<void> {
    const { signal } = call
    const list = (cursor?: string): Promise<ToolListPage> => this.#list(cursor, read.call, via)
    const forward = (args: unknown, brought: Brought): Promise<ToolResult> =>
      call.forward(() => this.#forward({ ...message, id: sentId, params: paramsWith(args, brought) }, via))
    const { jsonrpc, id } = message
    const elicit = this.#elicitFor(read.call, via, id)
    let response: ResponseMessage
    try {
      const fault = read.fault ?? (await this.#definitions.fault(read.call.name, list))
      const result = await gateToolCall(this.#gate, { ...read, fault, signal, elicit, endOfTask }, forward)
      response = { jsonrpc, id, result: call.isForwarded ? result : ownResult(result, read.call.meta) }
    } catch (error) {
      if (error === CANCELLED) return this.#ways.dropped?.(via)
      response = errorMessage(id, this.#errorFor(error))
    }
    const { answeredVia } = call
    if (answeredVia === undefined) return this.#answer(response, via)
    try {
      await this.#ways.toClient(response, answeredVia.via)
    } catch (error) {
      await this.#answer(errorMessage(id, this.#errorFor(error)), via)
      throw error
    }
  }

  /** A page of the list that the server shows, for the gate alone. */
  #list(cursor: string | undefined, { meta }: Caller, via: ClientVia): Promise<ToolListPage> {
    if (this.#closed !== undefined) throw new AnswerLost(this.#closed)
    const params = { ...(cursor !== undefined && { cursor }), ...envelopeOf(meta) }
    return this.#toServer.ask((id) => this.#forward({ jsonrpc: '2.0', id, method: 'tools/list', params }, via), LIST_MS)
  }

  /** How the user of the client can be asked about a call. */
  #elicitFor({ meta }: Caller, via: ClientVia, call: RequestId): Elicit | undefined {
    if (this.#gate.reviewer === undefined) return undefined
    const capabilities = capabilitiesIn(meta)
    if (capabilities !== undefined) return takesForms(capabilities) ? 'input_required' : undefined
    if (this.#ways.ask === undefined || !takesForms(this.#clientCapabilities)) return undefined
    const tell = async (message: JsonRpcMessage): Promise<void> => this.#ways.ask?.(message, via, call)
    return (params, signal) => this.#elicit(params, signal, tell)
  }

  async #elicit(
    params: ElicitParams,
    signal: AbortSignal | undefined,
    tell: (message: JsonRpcMessage) => Promise<void>,
  ): Promise<ToolResult> {
    let asked = ''
    const giveUp = (error: unknown): void => this.#toClient.fail(asked, error)
    const onAbort = (): void => giveUp(signal?.reason)
    const send = (id: string): void => {
      asked = id
      tell({ jsonrpc: '2.0', id, method: 'elicitation/create', params }).catch(giveUp)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      return await this.#toClient.ask(send, this.#gate.reviewTimeoutMs)
    } catch (error) {
      const cancelled = { method: 'notifications/cancelled', params: { requestId: asked } }
      if (!(error instanceof AnswerOfServer)) await tell({ jsonrpc: '2.0', ...cancelled }).catch(() => undefined)
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Lists reach the client in the order in which the server has sent them. */
  async #showList(response: ResponseMessage, via: ServerVia, caller: Caller): Promise<void> {
    const { hidden, pinned } = this.#gate
    if ((hidden === null && pinned.size === 0) || !isObject(response.result)) return this.#ways.toClient(response, via)
    const page = shownTools(this.#gate, this.#definitions, response.result, caller)
    const before = this.#lists
    const shown = (async () => {
      await before
      await this.#ways.toClient({ ...response, result: await page }, via)
    })()
    this.#lists = shown.catch(() => undefined)
    return shown
  }

  #pendingAt(sentId: RequestId): Pending<ServerVia> | undefined {
    const pending = this.#pending.get(this.clientIdOf(sentId))
    return pending?.sentId === sentId ? pending : undefined
  }

  /** By this id the server gets a request: its own, unless what an earlier one is answered by could be taken for its response. */
  #sentIdOf({ id, method }: RequestMessage): RequestId {
    if (this.#used.isNew(id) || !(method === 'tools/call' || method.startsWith('tasks/'))) return id
    const sentId = this.#used.another()
    this.#clientIds.set(sentId, id)
    return sentId
  }

  #over(id: RequestId): void {
    this.#clientIds.delete(this.#pending.get(id)?.sentId ?? id)
    this.#pending.delete(id)
    this.#cancelled.delete(id)
    if (this.#pending.size === 0) for (const resolve of this.#awaitIdle.splice(0)) resolve()
  }

  #noteCancelled(id: RequestId): void {
    this.#cancelled.add(id)
    const [oldest] = this.#cancelled
    if (oldest === undefined || this.#cancelled.size <= MAX_CANCELLED) return
    this.#cancelled.delete(oldest)
    this.#pending
      .get(oldest)
      ?.fail(new AnswerLost('the call was cancelled'))
      .catch(() => undefined)
  }

  #errorFor(error: unknown): ProtocolError {
    if (error instanceof AnswerOfServer) return error.told
    if (error instanceof RefusedCall) return { code: error.code, message: error.message, data: error.data }
    if (this.#closed !== undefined) return { code: CONNECTION_CLOSED, message: `Connection closed: ${this.#closed}` }
    return { code: INTERNAL_ERROR, message: 'Internal error: the server did not answer' }
  }

  #forward(message: JsonRpcMessage, via: ClientVia): void {
    const fail = (error: unknown): void => {
      if ('method' in message && 'id' in message) this.failed(message.id, error).catch(() => undefined)
    }
    try {
      this.#ways.toServer(message, via)?.catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  #refuse(id: RequestId | null, via: ClientVia, why: string): void {
    void this.#answer(errorMessage(id, { code: INVALID_REQUEST, message: `Invalid Request: ${why}` }), via)
  }

  /** Never rejects. */
  async #answer(message: JsonRpcMessage, via: ClientVia): Promise<void> {
    try {
      await this.#ways.answer(message, via)
    } catch {
      // The client is gone.
    }
  }
}
