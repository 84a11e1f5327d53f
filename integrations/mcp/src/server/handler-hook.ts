/** Hooks into the lookup of request handlers in servers of both SDKs. Whenever a handler is set, the server finds its replacement. */

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
  _onnotification(notification: HandledRequest, ...extra: unknown[]): unknown
  connect(transport: unknown): Promise<void>
}

/** What passes a server besides requests to its handlers. */
export interface ConnectionHook {
  /** Called before the server is connected to the transport. */
  onTransport(transport: object): void
  /** @param extra the extra of the transport, in 2.x; @param handle passes the notification to the server */
  onNotification(notification: HandledRequest, extra: unknown, handle: (notification: HandledRequest) => unknown): void
}

const NOT_PLACED =
  'gate cannot place its hook in this server: it supports servers of @modelcontextprotocol/sdk and @modelcontextprotocol/server. Use gateTransport for any other server'

const PROBE = { jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name: '', arguments: {} } }

/** Whether it is a `Server`, which an `McpServer` contains. */
export function hasHandlers(server: unknown): server is object {
  return Object(server)._requestHandlers !== undefined
}

export class HandlerHook {
  readonly #server: Internals
  /** Maps of handlers whose lookups return replacements. */
  readonly #maps = new WeakSet<object>()
  /** Each handler has one replacement. */
  readonly #replacements = new WeakMap<Handler, Handler>()
  readonly #originals = new WeakMap<Handler, Handler>()
  #probe: 'none' | 'sent' | 'seen' = 'none'

  /**
   * @param isHooked whether the handler of a method is replaced
   * @param inPlaceOf returns the replacement of a handler, or of the fallback for all other methods
   * @throws TypeError if the server does not look up its handlers as both SDKs do
   */
  constructor(
    server: object,
    private readonly isHooked: (method: string) => boolean,
    private readonly inPlaceOf: (handler: Handler) => Handler,
    private readonly connection: ConnectionHook,
  ) {
    this.#server = server as Internals
    try {
      this.#place()
    } catch (error) {
      throw new TypeError(NOT_PLACED, { cause: error })
    }
    this.#assertLooking()
  }

  /** The handler of a method, as it was set. */
  originalOf(method: string): Handler | undefined {
    const found = this.#server._requestHandlers.get(method) ?? this.#server.fallbackRequestHandler
    return found && (this.#originals.get(found) ?? found)
  }

  #place(): void {
    const server = this.#server
    let handlers = this.#watched(server._requestHandlers)
    let fallback = server.fallbackRequestHandler
    const { connect, _onnotification: notified } = server
    if (typeof notified !== 'function') throw new TypeError('the server does not take notifications as both SDKs do')
    // Code that redefines one of these later gets an error, and cannot bypass the hook.
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
          this.connection.onTransport(Object(transport))
          await connect.call(server, transport)
        },
      },
      _onnotification: {
        configurable: false,
        value: (notification: HandledRequest, extra: unknown) =>
          this.connection.onNotification(notification, extra, (given) => notified.call(server, given, extra)),
      },
    })
  }

  /** Returns the map itself, with a hooked `get`. @throws TypeError for a value that is not a Map */
  #watched(handlers: Map<string, Handler>): Map<string, Handler> {
    if (!(handlers instanceof Map)) throw new TypeError('the server does not keep its handlers in a Map')
    if (this.#maps.has(handlers)) return handlers
    const found = handlers.get
    const get = (method: string): Handler | undefined => {
      if (this.#probe !== 'none') this.#answerProbe()
      const handler = found.call(handlers, method) as Handler | undefined
      return handler !== undefined && this.isHooked(method) ? this.#replacement(handler) : handler
    }
    this.#maps.add(Object.defineProperty(handlers, 'get', { value: get, configurable: false, writable: false }))
    return handlers
  }

  #replacement(handler: Handler): Handler {
    // Code has looked up a replacement and set it as a handler.
    if (this.#originals.has(handler)) return handler
    const known = this.#replacements.get(handler)
    if (known !== undefined) return known
    const replacement = this.inPlaceOf(handler)
    this.#replacements.set(handler, replacement)
    this.#originals.set(replacement, handler)
    return replacement
  }

  /** Sends a probe that must be looked up here, and that stops here. */
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
