/**
 * One connection at the level of its messages: what transports and proxies are gated by. `tools/call` is asked about and settled
 * by its response, and everything else passes in order.
 */
import { randomUUID } from 'node:crypto'
import {
  AnswerLost,
  AnswerOfServer,
  type ClientContext,
  callerOf,
  envelopeOf,
  ownResult,
  type ReadCall,
  readCall,
} from './called-message.js'
import type { ToolGate } from './gate-options.js'
import type { Caller } from './gated-call.js'
import { type Brought, gateToolCall, RefusedCall } from './gated-tool-call.js'
import {
  CONNECTION_CLOSED,
  errorMessage,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isObject,
  isRequestId,
  type JsonRpcMessage,
  type NotificationMessage,
  type ProtocolError,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
  readMessage,
} from './json-rpc.js'
import { CANCELLED, PendingCall } from './pending-call.js'
import { ToolDefinitions } from './tool-definitions.js'
import { shownTools } from './tool-list.js'
import type { ToolListPage } from './tool-pages.js'
import type { ToolResult } from './tool-result.js'

/** Where messages go. `via` is what was given with the message of that side. */
export interface MessageWays<ClientVia, ServerVia> {
  /** To the server. What it throws, or rejects with, counts as `failed`. */
  toServer(message: JsonRpcMessage, via: ClientVia): void | Promise<void>
  /** To the client, what the server has sent. */
  toClient(message: JsonRpcMessage, via: ServerVia): void | Promise<void>
  /** To the client, what the gate itself answers to a message of the client. What it throws is ignored: the client is gone. */
  answer(message: JsonRpcMessage, via: ClientVia): void | Promise<void>
  /** Nothing will come of a message of the client: it is neither forwarded nor answered. */
  dropped?(via: ClientVia): void
}

/** A request that the server has not answered yet. */
interface Pending<ServerVia> {
  respond(response: ResponseMessage, via: ServerVia): Promise<void>
  /** There will be no response. */
  fail(error: unknown): Promise<void>
  /** The client does not wait for it any more. Gives whether the server is to be told so. */
  cancel(): boolean
}

const MAX_PENDING = 10_000
/** Of calls that were cancelled after they had been forwarded: no server has to answer those. */
const MAX_CANCELLED = 100
const MAX_BATCH = 100
/** For the answer to a request of the gate's own, in milliseconds. */
const OWN_MS = 30_000
const OWN_ID = 'countersign:'

/** Whether the gate itself asks this of the server: the response is for nobody else. */
export function isOwnRequest(message: JsonRpcMessage): boolean {
  return 'method' in message && 'id' in message && isOwnId(message.id)
}

const isOwnId = (id: RequestId): boolean => typeof id === 'string' && id.startsWith(OWN_ID)

export class MessageGate<ClientVia, ServerVia> {
  readonly #gate: ToolGate
  readonly #ways: MessageWays<ClientVia, ServerVia>
  readonly #pending = new Map<RequestId, Pending<ServerVia>>()
  readonly #cancelled = new Set<RequestId>()
  readonly #awaitIdle: (() => void)[] = []
  readonly #definitions: ToolDefinitions
  /** The lists that the client is yet to be shown, in order. */
  #lists: Promise<unknown> = Promise.resolve()
  #lastCaller: Caller = { authInfo: undefined, sessionId: undefined, meta: {} }
  #closed: string | undefined

  /** @param definitions those of the server, where several connections lead to it */
  constructor(
    gate: ToolGate,
    ways: MessageWays<ClientVia, ServerVia>,
    definitions: ToolDefinitions = new ToolDefinitions(gate),
  ) {
    this.#gate = gate
    this.#ways = ways
    this.#definitions = definitions
  }

  /** @param message what `JSON.parse` gave: a message, or a batch of them */
  fromClient(message: unknown, via: ClientVia, context: ClientContext = {}): void {
    if (Array.isArray(message)) {
      const isBatch = message.length > 0 && message.length <= MAX_BATCH && !message.some(Array.isArray)
      if (isBatch) for (const one of message) this.fromClient(one, via, context)
      else this.#refuse(null, via, `a batch has 1 to ${MAX_BATCH} messages`)
      return
    }
    const read = readMessage(message)
    if (read.kind === 'request') this.#request(read.message, via, context)
    else if (read.kind === 'notification') this.#notification(read.message, via)
    else if (read.kind === 'response') this.#forward(read.message, via)
    else if (read.id === undefined) this.#ways.dropped?.(via)
    else void this.#answer(errorMessage(read.id, read.error), via)
  }

  /**
   * Resolves when what becomes of the message has been handed to `toClient`, and rejects as that does.
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
    if (read.kind === 'notification' && read.message.method === 'notifications/tools/list_changed')
      this.#definitions.listChanged()
    if (read.kind !== 'response' || !isRequestId(read.message.id)) return this.#ways.toClient(read.message, via)
    const { id, result } = read.message
    const pending = this.#pending.get(id)
    if (pending !== undefined) return pending.respond(read.message, via)
    if (isOwnId(id)) return
    // A stream that is resumed brings once more what was answered before.
    if (isObject(result) && Array.isArray(result.tools)) return this.#showList(read.message, via, this.#lastCaller)
    return this.#ways.toClient(read.message, via)
  }

  /** The request will have no response: the client is told so, and a call is settled by the error. */
  async failed(id: RequestId, error: unknown): Promise<void> {
    await this.#pending.get(id)?.fail(error)
  }

  /** Whether a request, of the client or of the gate itself, has no response yet. */
  isPending(id: RequestId): boolean {
    return this.#pending.has(id)
  }

  /** Resolves when no request, of the client or of the gate itself, is being asked about or awaits its response. */
  async idle(): Promise<void> {
    if (this.#pending.size > 0) await new Promise<void>((resolve) => this.#awaitIdle.push(resolve))
  }

  /** The server is gone: whatever is pending is answered, and what may have run is left. Resolves when all of it is settled. */
  async close(reason: string): Promise<void> {
    this.#closed ??= reason
    const error = new AnswerLost(this.#closed)
    await Promise.allSettled([...this.#pending.values()].map((pending) => pending.fail(error)))
  }

  #request(message: RequestMessage, via: ClientVia, context: ClientContext): void {
    const { id, method } = message
    if (this.#closed !== undefined) void this.#answer(errorMessage(id, this.#errorFor(undefined)), via)
    else if (this.#pending.has(id) || isOwnRequest(message)) this.#refuse(id, via, 'a request with this id is pending')
    else if (this.#pending.size >= MAX_PENDING) this.#refuse(id, via, 'too many requests are pending')
    else if (method === 'tools/call') this.#call(message, via, context)
    else this.#pass(message, via, context)
  }

  #notification(message: NotificationMessage, via: ClientVia): void {
    const { method, params } = message
    // A call without an id would run, and nothing would ever settle it.
    let isForServer = method !== 'tools/call'
    if (method === 'notifications/cancelled' && isObject(params) && isRequestId(params.requestId))
      isForServer = this.#pending.get(params.requestId)?.cancel() ?? true
    if (isForServer) this.#forward(message, via)
    else this.#ways.dropped?.(via)
  }

  /** A request of any other method. */
  #pass(message: RequestMessage, via: ClientVia, context: ClientContext): void {
    const { id, method } = message
    const caller = callerOf(message, context)
    if (method === 'tools/list') this.#lastCaller = caller
    this.#pending.set(id, {
      respond: async (response, serverVia) => {
        this.#over(id)
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
    this.#forward(message, via)
  }

  #call(message: RequestMessage, via: ClientVia, context: ClientContext): void {
    const { id } = message
    const read = readCall(message, context)
    if ('code' in read) return void this.#answer(errorMessage(id, read), via)
    const call = new PendingCall<ServerVia>()
    const onGone = (): void => {
      if (!call.isForwarded) call.cancel()
    }
    if (context.signal?.aborted) onGone()
    context.signal?.addEventListener('abort', onGone, { once: true })
    const over = this.#end(call, read, { message, via }).finally(() => {
      context.signal?.removeEventListener('abort', onGone)
      this.#over(id)
    })
    over.catch(() => undefined)
    this.#pending.set(id, {
      respond: async (response, serverVia) => {
        if (call.respond(response, serverVia)) await over
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
    { message, via }: { readonly message: RequestMessage; readonly via: ClientVia },
  ): Promise<void> {
    const { signal } = call
    const list = (cursor?: string): Promise<ToolListPage> =>
      this.#ask('tools/list', { ...(cursor !== undefined && { cursor }), ...envelopeOf(read.call.meta) }, via)
    const forward = (args: unknown, brought: Brought): Promise<ToolResult> =>
      call.forward(() => this.#forward({ ...message, params: paramsWith(args, brought) }, via))
    const { jsonrpc, id } = message
    let response: ResponseMessage
    try {
      const fault = read.fault ?? (await this.#definitions.fault(read.call.name, list))
      const result = await gateToolCall(this.#gate, { ...read, fault, signal }, forward)
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

  /** The answer of the server to a request of the gate's own. */
  async #ask(method: string, params: object, via: ClientVia): Promise<ToolResult> {
    if (this.#closed !== undefined) throw new AnswerLost(this.#closed)
    const id = `${OWN_ID}${randomUUID()}`
    const call = new PendingCall<ServerVia>()
    const late = setTimeout(() => call.fail(new AnswerLost('the server took too long')), OWN_MS)
    late.unref()
    this.#pending.set(id, {
      respond: async (response, serverVia) => void call.respond(response, serverVia),
      fail: async (error) => call.fail(error),
      cancel: () => false,
    })
    try {
      return await call.forward(() => this.#forward({ jsonrpc: '2.0', id, method, params }, via))
    } finally {
      clearTimeout(late)
      this.#over(id)
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

  #over(id: RequestId): void {
    this.#pending.delete(id)
    this.#cancelled.delete(id)
    if (this.#pending.size === 0) for (const resolve of this.#awaitIdle.splice(0)) resolve()
  }

  #noteCancelled(id: RequestId): void {
    this.#cancelled.add(id)
    const [oldest] = this.#cancelled
    if (oldest === undefined || this.#cancelled.size <= MAX_CANCELLED) return
    this.#cancelled.delete(oldest)
    this.failed(oldest, new AnswerLost('the call was cancelled')).catch(() => undefined)
  }

  #errorFor(error: unknown): ProtocolError {
    if (error instanceof AnswerOfServer) return error.told
    if (error instanceof RefusedCall) return { code: error.code, message: error.message, data: error.data }
    if (this.#closed !== undefined) return { code: CONNECTION_CLOSED, message: `Connection closed: ${this.#closed}` }
    return { code: INTERNAL_ERROR, message: 'Internal error: there is no answer of the server' }
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
