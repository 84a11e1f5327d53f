/** Gates the handlers of one server: for tools, for lists, and for everything else that reads or acts. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Elicit, elicitBy } from '../calls/elicitation.js'
import { readOther } from '../calls/other-params.js'
import { type ToolResult, thrownBy } from '../calls/result.js'
import { type EndOfTask, runCall } from '../calls/run-call.js'
import { callerOf, readParams } from '../calls/tool-params.js'
import { type GateOptions, type ToolGate, toolGate } from '../gate-options.js'
import { LISTS, ownTasks, shownList, shownTools } from '../lists/shown-lists.js'
import { ToolDefinitions } from '../lists/tool-definitions.js'
import type { ToolListPage } from '../lists/tool-pages.js'
import { METHOD_NOT_FOUND, type ProtocolError } from '../messages/json-rpc.js'
import { numberFaultIn } from '../messages/refused-messages.js'
import {
  isLookAlike,
  MAY_REQUIRE_INPUT,
  PASSING_REQUESTS,
  TASK_LIST,
  TASK_REQUESTS,
  TOOL_CALL,
} from '../rules/methods.js'
import { clientOf, strangeTask } from '../tasks/permitted-tasks.js'
import { taskOf, type WatchedTasks, watchTasks } from '../tasks/tasks.js'
import { GatedConnection } from './gated-connection.js'
import { type HandledRequest, type Handler, HandlerHook, hasHandlers } from './handler-hook.js'
import { RegisteredTools, type ToolInput } from './registered-tools.js'
import { requestContext } from './request-context.js'

/** `McpServer` and `Server` of both SDKs. */
export interface GateableServer {
  connect(transport: never): Promise<void>
}

/** By the server that has the handlers. */
const gated = new WeakMap<object, GatedServer>()

/**
 * Gates a server: a tool runs only if a decision permits the call. Tools can be registered before or after. A second call with the
 * same server and the same options changes nothing.
 *
 * @returns the server that was given
 * @throws TypeError that names the faulty option; and for a server whose tools the gate cannot guard
 *
 * @example
 * const server = gate(new McpServer(info), { client, map: { refund: { action: 'payment.refund', resource: (a) => `order:${a.id}` } } })
 */
export function gate<Server extends GateableServer>(server: Server, options: GateOptions): Server {
  const settings = toolGate('gate', options)
  const handling = hasHandlers(server) ? server : Object(Object(server).server)
  const known = gated.get(handling)
  if (known === undefined) gated.set(handling, new GatedServer(settings, handling, Object(server)))
  else if (known.gate !== settings) throw new TypeError('gate was already called with other options for this server')
  return server
}

/** A running call, with the handler that runs it. */
interface Running {
  readonly asked: { readonly name: string; readonly args: unknown }
  readonly handler: Handler
  readonly input: ToolInput
}

class GatedServer {
  readonly #hook: HandlerHook
  readonly #tools: RegisteredTools
  readonly #definitions: ToolDefinitions
  /** Identifies this server for tasks. */
  readonly #scope = randomUUID()
  /** The running calls, by the signals of their requests. */
  readonly #running = new WeakMap<AbortSignal, Running>()

  /**
   * @param server the server with the handlers
   * @param mcpServer the server with the tools; the same as `server` if its tools are unknown
   * @throws TypeError if the server does not look up its handlers as both SDKs do, or its SDK is too old
   */
  constructor(
    readonly gate: ToolGate,
    private readonly server: object,
    mcpServer: object,
  ) {
    this.#definitions = new ToolDefinitions(gate)
    this.#tools = new RegisteredTools(mcpServer)
    const connection = new GatedConnection(gate, server)
    const isHooked = (method: string): boolean => !PASSING_REQUESTS.has(method) || LISTS.has(method)
    this.#hook = new HandlerHook(server, isHooked, (handler) => this.#inPlaceOf(handler), connection)
  }

  #inPlaceOf(handler: Handler): Handler {
    return async (request, context) => {
      const method: string = Object(request).method ?? TOOL_CALL
      if (method === TOOL_CALL) return this.#call(handler, request, context)
      if (LISTS.has(method)) return this.#shown(handler, request, context)
      if (isLookAlike(method)) throw new ProtocolFault({ code: METHOD_NOT_FOUND, message: 'Method not found' })
      if (method === TASK_LIST) return ownTasks(this.gate, this.#clientOf(context), await handler(request, context))
      if (PASSING_REQUESTS.has(method) || this.gate.rules.isOpen(method)) return handler(request, context)
      return this.#other(method, handler, request, context)
    }
  }

  /** Handles resources, prompts, completions, tasks, and methods that the protocol does not know. */
  async #other(method: string, handler: Handler, request: HandledRequest, context: unknown): Promise<unknown> {
    const { signal, ...told } = requestContext(context)
    const read = readOther({ method, params: request.params }, told)
    if ('code' in read) throw new ProtocolFault(read)
    const { paramsWith, ...asked } = read
    const { taskId } = asked.args
    const client = this.#clientOf(context)
    const { permittedTasks } = this.gate
    const isTask = TASK_REQUESTS.has(method)
    const isOwn = isTask && permittedTasks.has(client, taskId)
    if (isOwn && asked.fault === undefined)
      return permittedTasks.withWords(client, method, taskId, (await handler(request, context)) as ToolResult)
    if (!isTask && this.gate.rules.passes(asked.call)) return handler(request, context)
    const fault = isTask && !isOwn ? strangeTask() : asked.fault
    const brought = told.brought ?? asked.brought
    const elicit = MAY_REQUIRE_INPUT.has(method) ? this.#elicit(context) : undefined
    return runCall(this.gate, { ...asked, fault, signal, brought, elicit }, async (args, forServer) => {
      const params = paramsWith(args, told.brought === undefined ? forServer : {})
      const given = request.params === undefined ? request : { ...request, params }
      return (await handler(given, told.contextWith(forServer, undefined))) as ToolResult
    })
  }

  #clientOf(context: unknown): string {
    return clientOf(requestContext(context), this.#scope)
  }

  #elicit(context: unknown): Elicit | undefined {
    return this.gate.reviewer && elicitBy(this.server, context, this.gate.reviewTimeoutMs)
  }

  async #call(handler: Handler, request: HandledRequest, context: unknown): Promise<ToolResult> {
    const read = readParams(request.params)
    if ('code' in read) throw new ProtocolFault(read)
    const { name, args, meta, wantsTask, brought, paramsWith } = read
    const { signal, authInfo, sessionId, taskStore, ...told } = requestContext(context)
    const asked = { name, args }
    const decided = signal && this.#inputOfRunning(signal, asked, handler)
    if (decided !== undefined)
      return this.#run(() => handler(request, context), { asked, handler, input: decided }, signal)
    const call = { method: TOOL_CALL, name, authInfo, sessionId, meta }
    const fault = numberFaultIn(args) ?? (await this.#definitionFault(name, context))
    const input = this.#tools.inputOf(name)
    const tasks = taskStore && watchTasks(taskStore)
    const asks = {
      parse: input.parse,
      wantsTask,
      brought: told.brought ?? brought,
      elicit: this.#elicit(context),
      endOfTask: this.#endOfTask(context, tasks),
    }
    const result = await runCall(this.gate, { call, args: args ?? {}, fault, signal, ...asks }, (given, forTool) => {
      const params = paramsWith(given, told.brought === undefined ? forTool : {})
      const run = (): unknown => handler({ ...request, params }, told.contextWith(forTool, tasks?.store))
      return this.#run(run, { asked: { name, args: args && given }, handler, input }, signal)
    })
    const taskId = taskOf(result)
    if (taskId !== undefined) this.gate.permittedTasks.note(this.#clientOf(context), taskId)
    return result
  }

  #endOfTask(context: unknown, tasks: WatchedTasks | undefined): EndOfTask {
    return async (taskId, words) => {
      this.gate.permittedTasks.note(this.#clientOf(context), taskId, words)
      return (await tasks?.endOf(taskId)) ?? { kind: 'unknown' }
    }
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

  /** Whether another handler, which wraps this one, is running the same call. That call is decided, and may run once. */
  #inputOfRunning(signal: AbortSignal, asked: Running['asked'], handler: Handler): ToolInput | undefined {
    const running = this.#running.get(signal)
    if (running === undefined || running.handler === handler || !isDeepStrictEqual(running.asked, asked))
      return undefined
    this.#running.delete(signal)
    return running.input
  }

  /** Reads the list for each call: this server does not have to announce that its list has changed. */
  async #definitionFault(name: string, context: unknown): ReturnType<ToolDefinitions['fault']> {
    if (!this.gate.pinned.has(name)) return undefined
    this.#definitions.listChanged()
    return this.#definitions.fault(name, async (cursor) => {
      const params = cursor === undefined ? {} : { cursor }
      return (await this.#hook.originalOf('tools/list')?.({ method: 'tools/list', params }, context)) as ToolListPage
    })
  }

  async #shown(handler: Handler, request: HandledRequest, context: unknown): Promise<unknown> {
    const page = (await handler(request, context)) as ToolListPage
    const caller = callerOf(request, requestContext(context))
    const member = LISTS.get(String(request.method)) ?? 'tools'
    if (member === 'tools') return shownTools(this.gate, this.#definitions, page, caller)
    return shownList(this.gate, member, page, caller)
  }
}

/** Both SDKs send `code` and `message` of an error that a handler throws. */
class ProtocolFault extends Error {
  readonly code: number

  constructor({ code, message }: ProtocolError) {
    super(message)
    this.code = code
  }
}
