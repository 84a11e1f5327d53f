/** The request handlers of one server, gated where they are looked up: whoever sets them, and whenever. */
import { isDeepStrictEqual } from 'node:util'
import type { ToolGate } from './gate-options.js'
import { gateToolCall } from './gated-tool-call.js'
import { requestContext } from './request-context.js'
import { type ToolResult, thrownBy } from './tool-result.js'

type Handler = (request: Request, context: unknown) => unknown

interface Request {
  readonly method?: unknown
  readonly params?: unknown
}

/** What both SDKs have within, and no type of theirs tells. */
interface Internals {
  _requestHandlers: Map<string, Handler>
  fallbackRequestHandler?: Handler | undefined
  _onrequest(request: object): void
  connect(transport: unknown): Promise<void>
}

/** Members of `McpServer` that both SDKs have within. */
interface ToolInternals {
  readonly _registeredTools?: unknown
  readonly validateToolInput?: unknown
  executeToolHandler?: unknown
}

interface Asked {
  readonly name: string
  readonly args: unknown
}

const NOT_PLACED =
  'gate cannot place its hook in this server: it takes servers of @modelcontextprotocol/sdk and /server'

const PROBE = { jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name: '', arguments: {} } }

/** Thrown by a look-up that a probe has led to. */
const consulted = Symbol('consulted')

export class GatedHandlers {
  readonly gate: ToolGate
  readonly #server: Internals
  readonly #tools: ToolInternals | undefined
  /** Whose look-ups give gated handlers. */
  readonly #maps = new WeakSet<object>()
  /** The gated form of each handler, so that the same is given for the same. */
  readonly #gated = new WeakMap<Handler, Handler>()
  /** What is running, by the signal of its request. */
  readonly #running = new WeakMap<AbortSignal, Asked>()
  /** What tools have thrown, by the signal of the request. */
  readonly #thrown = new WeakMap<AbortSignal, { readonly error: unknown }>()
  #isProbing = false

  /** @throws TypeError where the server does not look its handlers up as both SDKs do */
  constructor(gate: ToolGate, server: object, tools: object | undefined) {
    this.gate = gate
    this.#server = server as Internals
    this.#tools = tools
    try {
      this.#place()
    } catch (error) {
      throw new TypeError(NOT_PLACED, { cause: error })
    }
    this.#assertConsulted()
  }

  #place(): void {
    const server = this.#server
    let handlers = this.#lookedUp(server._requestHandlers)
    let fallback = server.fallbackRequestHandler
    const connect = server.connect
    Object.defineProperties(server, {
      _requestHandlers: {
        get: () => handlers,
        set: (given: Internals['_requestHandlers']) => {
          handlers = this.#lookedUp(given)
        },
        enumerable: true,
      },
      fallbackRequestHandler: {
        get: () => (this.#isProbing ? this.#consult() : fallback && this.#inPlaceOf(undefined, fallback)),
        set: (given: Handler | undefined) => {
          fallback = given
        },
        enumerable: true,
      },
      connect: {
        value: async (transport: unknown) => {
          this.#assertConsulted()
          return connect.call(server, transport)
        },
        writable: true,
        configurable: true,
      },
    })
    this.#watchTools()
  }

  /** The map itself, whose look-ups give gated handlers. */
  #lookedUp(handlers: Internals['_requestHandlers']): Internals['_requestHandlers'] {
    if (!(handlers instanceof Map)) throw new TypeError('the handlers of the server are no Map')
    if (this.#maps.has(handlers)) return handlers
    const found = handlers.get
    const get = (method: string): Handler | undefined => {
      if (this.#isProbing) return this.#consult()
      const handler = found.call(handlers, method) as Handler | undefined
      return handler && this.#inPlaceOf(method, handler)
    }
    this.#maps.add(Object.defineProperty(handlers, 'get', { value: get }))
    return handlers
  }

  #consult(): never {
    throw consulted
  }

  /** The server has to look where the hook is: in a way that gives a request to nobody. */
  #assertConsulted(): void {
    this.#isProbing = true
    try {
      this.#server._onrequest(PROBE)
    } catch (error) {
      if (error === consulted) return
      throw new TypeError(NOT_PLACED, { cause: error })
    } finally {
      this.#isProbing = false
    }
    throw new TypeError(NOT_PLACED)
  }

  /** `McpServer` turns what a tool throws into words: the error itself tells whether an answer was lost. */
  #watchTools(): void {
    const tools = this.#tools
    const execute = tools?.executeToolHandler
    if (tools === undefined || typeof execute !== 'function') return
    tools.executeToolHandler = async (...given: unknown[]): Promise<unknown> => {
      try {
        return await execute.apply(tools, given)
      } catch (error) {
        const { signal } = requestContext(given[2])
        if (signal !== undefined) this.#thrown.set(signal, { error })
        throw error
      }
    }
  }

  /** @param method undefined for what answers requests that nobody else does */
  #inPlaceOf(method: string | undefined, handler: Handler): Handler {
    if (method !== undefined && method !== 'tools/call') return handler
    const known = this.#gated.get(handler)
    if (known !== undefined) return known
    const gated: Handler = (request, context) =>
      typeof request?.method === 'string' && request.method !== 'tools/call'
        ? handler(request, context)
        : this.#call(handler, request, context)
    this.#gated.set(handler, gated)
    // Set once more, as by who wraps it, it is the same.
    this.#gated.set(gated, gated)
    return gated
  }

  async #call(handler: Handler, request: Request, context: unknown): Promise<unknown> {
    const { name, arguments: args, _meta: meta = {} } = Object(request.params)
    if (typeof name !== 'string') throw new InvalidCall()
    const { signal, authInfo, sessionId } = requestContext(context)
    if (signal !== undefined && this.#isRunning(signal, { name, args })) return handler(request, context)
    const run = async (given: unknown): Promise<ToolResult> => {
      const params = { ...Object(request.params), ...(args !== undefined && { arguments: given }) }
      if (signal === undefined) return (await handler({ ...request, params }, context)) as ToolResult
      this.#running.set(signal, { name, args: params.arguments })
      try {
        const result = (await handler({ ...request, params }, context)) as ToolResult
        const thrown = this.#thrown.get(signal)
        return thrown === undefined ? result : thrownBy(thrown.error, result)
      } finally {
        this.#running.delete(signal)
      }
    }
    const call = { name, authInfo, sessionId, meta: Object(meta) }
    return gateToolCall(this.gate, { call, args: args ?? {}, parse: this.#parserOf(name), signal }, run)
  }

  /** A handler that was wrapped by another one: the call is being run already, once. */
  #isRunning(signal: AbortSignal, asked: Asked): boolean {
    const running = this.#running.get(signal)
    this.#running.delete(signal)
    return running !== undefined && isDeepStrictEqual(running, asked)
  }

  /** As the tool will have the arguments; as they came where it will not take them, and where nobody knows. */
  #parserOf(name: string): ((args: unknown) => unknown) | undefined {
    const { _registeredTools: registered, validateToolInput } = {
      ...this.#tools,
      validateToolInput: this.#tools?.validateToolInput,
    }
    if (typeof validateToolInput !== 'function' || !Object.hasOwn(Object(registered), name)) return undefined
    const tool = Object(registered)[name]
    return async (args) => {
      try {
        return (await validateToolInput.call(this.#tools, tool, args, name)) ?? args
      } catch {
        return args
      }
    }
  }
}

/** For a request that names no tool: both SDKs tell `code` and `message` of what a handler throws. */
class InvalidCall extends Error {
  readonly code = -32602

  constructor() {
    super('Invalid params: tools/call has to name a tool')
  }
}
