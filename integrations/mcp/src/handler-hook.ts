/** Hooks into the look-up of request handlers, in servers of both SDKs: whenever a handler is set, the server finds its replacement. */

/** `context` is the `extra` of 1.x and the `ctx` of 2.x. */
export type Handler = (request: HandledRequest, context: unknown) => unknown

export interface HandledRequest {
  readonly method?: unknown
  readonly params?: unknown
}

/** Private members that both SDKs have. Their types do not show them. */
interface Internals {
  _requestHandlers: Map<string, Handler>
  fallbackRequestHandler?: Handler | undefined
  _onrequest(request: object): unknown
  connect(transport: unknown): Promise<void>
}

const NOT_PLACED =
  'gate cannot place its hook in this server: it supports servers of @modelcontextprotocol/sdk and @modelcontextprotocol/server. Use gateTransport for any other server'

const PROBE = { jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name: '', arguments: {} } }

/** Whether it is a `Server`: `McpServer` holds one. */
export function hasHandlers(server: unknown): server is object {
  return Object(server)._requestHandlers !== undefined
}

export class HandlerHook {
  readonly #server: Internals
  readonly #inPlaceOf: (handler: Handler) => Handler
  readonly #methods: ReadonlySet<string>
  /** Whose look-ups give what stands in place of the handlers. */
  readonly #maps = new WeakSet<object>()
  /** The same for the same. */
  readonly #replacements = new WeakMap<Handler, Handler>()
  readonly #originals = new WeakMap<Handler, Handler>()
  #probe: 'none' | 'sent' | 'seen' = 'none'

  /**
   * @param inPlaceOf given the handler of one of these methods, or one for all methods that have none
   * @throws TypeError if the server does not look up its handlers as both SDKs do
   */
  constructor(server: object, methods: readonly string[], inPlaceOf: (handler: Handler) => Handler) {
    this.#server = server as Internals
    this.#methods = new Set(methods)
    this.#inPlaceOf = inPlaceOf
    try {
      this.#place()
    } catch (error) {
      throw new TypeError(NOT_PLACED, { cause: error })
    }
    this.#assertLooking()
  }

  /** The handler of a method as it was set. */
  originalOf(method: string): Handler | undefined {
    const found = this.#server._requestHandlers.get(method) ?? this.#server.fallbackRequestHandler
    return found && (this.#originals.get(found) ?? found)
  }

  #place(): void {
    const server = this.#server
    let handlers = this.#watched(server._requestHandlers)
    let fallback = server.fallbackRequestHandler
    const { connect } = server
    // Code that defines either of them again later gets an error, and cannot bypass the hook.
    Object.defineProperties(server, {
      _requestHandlers: {
        enumerable: true,
        configurable: false,
        get: () => handlers,
        set: (given: Map<string, Handler>) => {
          handlers = this.#watched(given)
        },
      },
      fallbackRequestHandler: {
        enumerable: true,
        configurable: false,
        get: () => fallback && this.#replacement(fallback),
        set: (given: Handler | undefined) => {
          fallback = given
        },
      },
      connect: {
        writable: true,
        configurable: true,
        value: async (transport: unknown) => {
          this.#assertLooking()
          await connect.call(server, transport)
        },
      },
    })
  }

  /** The map itself, with a watched `get`. @throws TypeError for a value that is not a Map */
  #watched(handlers: Map<string, Handler>): Map<string, Handler> {
    if (!(handlers instanceof Map)) throw new TypeError('the server does not keep its handlers in a Map')
    if (this.#maps.has(handlers)) return handlers
    const found = handlers.get
    const get = (method: string): Handler | undefined => {
      if (this.#probe !== 'none') this.#answerProbe()
      const handler = found.call(handlers, method) as Handler | undefined
      return handler !== undefined && this.#methods.has(method) ? this.#replacement(handler) : handler
    }
    this.#maps.add(Object.defineProperty(handlers, 'get', { value: get, configurable: false, writable: false }))
    return handlers
  }

  #replacement(handler: Handler): Handler {
    // What was looked up and set once more is one already.
    if (this.#originals.has(handler)) return handler
    const known = this.#replacements.get(handler)
    if (known !== undefined) return known
    const replacement = this.#inPlaceOf(handler)
    this.#replacements.set(handler, replacement)
    this.#originals.set(replacement, handler)
    return replacement
  }

  /** Sends a probe that must be looked up here, and that stops there. */
  #assertLooking(): void {
    this.#probe = 'sent'
    let fault: unknown
    try {
      const handled = this.#server._onrequest(PROBE)
      if (handled instanceof Promise) handled.catch(() => undefined)
    } catch (error) {
      fault = error
    }
    const isSeen = (this.#probe as string) === 'seen'
    this.#probe = 'none'
    if (!isSeen) throw new TypeError(NOT_PLACED, { cause: fault })
  }

  #answerProbe(): never {
    this.#probe = 'seen'
    throw new Error('This request only checks that the gate sees each look-up of a handler.')
  }
}
