/** The handlers of `tools/call` and `tools/list` of one server, gated. */
import { isDeepStrictEqual } from 'node:util'
import { readParams } from './called-message.js'
import { elicitBy } from './elicitation.js'
import type { ToolGate } from './gate-options.js'
import type { Caller } from './gated-call.js'
import { gateToolCall } from './gated-tool-call.js'
import { type HandledRequest, type Handler, HandlerHook } from './handler-hook.js'
import { INVALID_PARAMS, isObject, type ProtocolError } from './json-rpc.js'
import { RegisteredTools, type ToolInput } from './registered-tools.js'
import { requestContext } from './request-context.js'
import { watchTasks } from './tasks.js'
import { ToolDefinitions } from './tool-definitions.js'
import { shownTools } from './tool-list.js'
import type { ToolListPage } from './tool-pages.js'
import { type ToolResult, thrownBy } from './tool-result.js'

interface Asked {
  readonly name: string
  readonly args: unknown
}

/** What may run, and what runs it. */
interface Running {
  readonly asked: Asked
  readonly handler: Handler
  readonly input: ToolInput
}

export class GatedServer {
  readonly gate: ToolGate
  readonly #server: object
  readonly #hook: HandlerHook
  readonly #tools: RegisteredTools
  readonly #definitions: ToolDefinitions
  /** What is running, by the signal of its request. */
  readonly #running = new WeakMap<AbortSignal, Running>()

  /**
   * @param server has the handlers
   * @param mcpServer has the tools; the same as `server` if they are unknown
   * @throws TypeError where the server does not look its handlers up as both SDKs do, or is of an SDK that is too old
   */
  constructor(gate: ToolGate, server: object, mcpServer: object) {
    this.gate = gate
    this.#server = server
    this.#definitions = new ToolDefinitions(gate)
    this.#tools = new RegisteredTools(mcpServer)
    this.#hook = new HandlerHook(server, ['tools/call', 'tools/list'], (handler) => this.#inPlaceOf(handler))
  }

  #inPlaceOf(handler: Handler): Handler {
    return (request, context) => {
      const method = Object(request).method ?? 'tools/call'
      if (method === 'tools/call') return this.#call(handler, request, context)
      return method === 'tools/list' ? this.#shown(handler, request, context) : handler(request, context)
    }
  }

  async #call(handler: Handler, request: HandledRequest, context: unknown): Promise<ToolResult> {
    const read = readParams(request.params)
    if ('code' in read) throw new InvalidParams(read)
    const { name, args, meta, wantsTask, brought, paramsWith } = read
    const { signal, authInfo, sessionId, taskStore, ...told } = requestContext(context)
    const asked = { name, args }
    const decided = signal && this.#inputOfRunning(signal, asked, handler)
    if (decided !== undefined)
      return this.#run(() => handler(request, context), { asked, handler, input: decided }, signal)
    const call = { name, authInfo, sessionId, meta }
    const fault = await this.#definitionFault(name, context)
    const input = this.#tools.inputOf(name)
    const tasks = taskStore && watchTasks(taskStore)
    const asks = {
      parse: input.parse,
      wantsTask,
      brought: told.brought ?? brought,
      elicit: this.gate.reviewer && elicitBy(this.#server, context, this.gate.reviewTimeoutMs),
      endOfTask: tasks?.endOf,
    }
    return gateToolCall(this.gate, { call, args: args ?? {}, fault, signal, ...asks }, (given, forTool) => {
      const params = paramsWith(given, told.brought === undefined ? forTool : {})
      const run = (): unknown => handler({ ...request, params }, told.contextWith(forTool, tasks?.store))
      return this.#run(run, { asked: { name, args: args && given }, handler, input }, signal)
    })
  }

  async #run(run: () => unknown, running: Running, signal: AbortSignal | undefined): Promise<ToolResult> {
    const { input } = running
    if (signal === undefined) return (await input.run(run)) as ToolResult
    this.#running.set(signal, running)
    try {
      const result = (await input.run(run)) as ToolResult
      const thrown = this.#tools.thrownIn(signal)
      return thrown === undefined ? result : thrownBy(thrown.error, result)
    } catch (error) {
      // If the client wants a task, 1.x cannot return the error as a result, and throws another one.
      const thrown = this.#tools.thrownIn(signal)
      if (error instanceof Error && thrown !== undefined) error.cause ??= thrown.error
      throw error
    } finally {
      this.#running.delete(signal)
    }
  }

  /** Where another handler, which wraps this one, is running what it is given: that was asked about, and may run once. */
  #inputOfRunning(signal: AbortSignal, asked: Asked, handler: Handler): ToolInput | undefined {
    const running = this.#running.get(signal)
    if (running === undefined || running.handler === handler || !isDeepStrictEqual(running.asked, asked))
      return undefined
    this.#running.delete(signal)
    return running.input
  }

  /** A server of one's own can be asked each time: none has to say that its list has changed. */
  async #definitionFault(name: string, context: unknown): ReturnType<ToolDefinitions['fault']> {
    if (!this.gate.pinned.has(name)) return undefined
    this.#definitions.listChanged()
    return this.#definitions.fault(name, async (cursor) => {
      const params = cursor === undefined ? {} : { cursor }
      return (await this.#hook.originalOf('tools/list')?.({ method: 'tools/list', params }, context)) as ToolListPage
    })
  }

  async #shown(handler: Handler, request: HandledRequest, context: unknown): Promise<ToolListPage> {
    const page = (await handler(request, context)) as ToolListPage
    const { authInfo, sessionId } = requestContext(context)
    const { _meta: meta } = Object(request.params)
    const caller: Caller = { authInfo, sessionId, meta: isObject(meta) ? meta : {} }
    return shownTools(this.gate, this.#definitions, page, caller)
  }
}

/** Both SDKs tell `code` and `message` of what a handler throws. */
class InvalidParams extends Error {
  readonly code = INVALID_PARAMS

  constructor({ message }: ProtocolError) {
    super(message)
  }
}
