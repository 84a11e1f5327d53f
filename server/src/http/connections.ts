import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '../ports/log.js'

/** How many requests of one connection may wait for their answers. Few clients send a second one before the first answer. */
export const MAX_PIPELINED_REQUESTS = 16

/** One request and its response, until the response is sent or the connection has closed. */
export class Exchange {
  readonly startedMs = performance.now()
  /** Called once, at the end. */
  onEnd: (() => void) | null = null
  private controller: AbortController | null = null
  private isAborted = false

  constructor(
    readonly req: IncomingMessage,
    readonly res: ServerResponse,
  ) {}

  /** Aborted at the end, and when the server shuts down. For a response that has no end of its own. */
  get signal(): AbortSignal {
    if (this.isAborted) return AbortSignal.abort()
    this.controller ??= new AbortController()
    return this.controller.signal
  }

  abort(): void {
    this.isAborted = true
    this.controller?.abort()
  }
}

interface Connection {
  /** The newest exchange, whose request may still be arriving. */
  latest: Exchange
  readonly unanswered: Set<Exchange>
}

/** All exchanges in progress, by connection. Closes a connection with too many pipelined requests. */
export class Connections {
  private readonly connections = new Map<Socket, Connection>()
  private readonly waiting: (() => void)[] = []
  private isDraining = false

  constructor(private readonly log: Log) {}

  /** The exchange of a request that has just arrived; null when the connection is closed: nothing is to be done for it. */
  exchange(req: IncomingMessage, res: ServerResponse): Exchange | null {
    const { socket } = req
    const connection = this.connections.get(socket)
    if (connection?.latest.res === res) return connection.latest
    if (socket.destroyed) return null
    if (connection?.unanswered.size === MAX_PIPELINED_REQUESTS) {
      // An answer in order would hold all requests before it in memory until the caller reads.
      const fields = { address: socket.remoteAddress, requests: MAX_PIPELINED_REQUESTS }
      this.log.info(fields, 'closed a connection that sent further requests before reading its responses')
      socket.destroy()
      stopReading(socket)
      return null
    }
    const exchange = new Exchange(req, res)
    if (connection === undefined) {
      this.connections.set(socket, { latest: exchange, unanswered: new Set([exchange]) })
      // A response that waits behind another one gets no event when the connection closes.
      socket.once('close', () => this.closed(socket))
    } else {
      connection.latest = exchange
      connection.unanswered.add(exchange)
    }
    res.on('close', () => this.end(exchange))
    return exchange
  }

  /** The exchange of the connection whose request is still arriving, and the last one before it that is not answered. */
  arriving(socket: Socket): { readonly own: Exchange | undefined; readonly before: Exchange | undefined } {
    const { latest, unanswered } = this.connections.get(socket) ?? {}
    const own = latest?.req.complete === false ? latest : undefined
    return { own, before: [...(unanswered ?? [])].filter((exchange) => exchange !== own).at(-1) }
  }

  /** Ends what has no end of its own, and closes each connection after its answers. Resolves when all of them are sent. */
  drain(): Promise<void> {
    this.isDraining = true
    for (const exchange of this.unanswered()) {
      exchange.res.shouldKeepAlive = false
      exchange.abort()
    }
    return this.isIdle() ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve))
  }

  private *unanswered(): Iterable<Exchange> {
    for (const { unanswered } of this.connections.values()) yield* unanswered
  }

  private isIdle(): boolean {
    for (const _ of this.unanswered()) return false
    return true
  }

  private closed(socket: Socket): void {
    for (const exchange of this.connections.get(socket)?.unanswered ?? []) this.end(exchange)
    this.connections.delete(socket)
  }

  private end(exchange: Exchange): void {
    const { socket } = exchange.req
    const unanswered = this.connections.get(socket)?.unanswered
    if (unanswered?.delete(exchange) !== true) return
    // A response that began before the server shut down has told the caller that the connection stays open.
    if (this.isDraining && unanswered.size === 0) socket.destroySoon()
    exchange.abort()
    exchange.onEnd?.()
    if (this.waiting.length > 0 && this.isIdle()) for (const resolve of this.waiting.splice(0)) resolve()
  }
}

/** Node's parser calls this when it has read the headers of a request. */
interface Parser {
  onIncoming?: (req: IncomingMessage) => number
}

/** Tells the parser that the bytes that follow are not HTTP. */
const UPGRADED = 2

/**
 * Node reads up to 64 KiB at a time, and parses every request in it although the connection is closed: thousands, for
 * nothing. Node has no public way to stop that. If the one used here goes away, those requests cost time and nothing else.
 */
function stopReading(socket: Socket & { parser?: Parser | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => UPGRADED
}
