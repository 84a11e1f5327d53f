import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '../ports/log.js'

/**
 * How many requests of one connection may wait for their answers. Few clients send another request before the first
 * answer.
 */
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

  /**
   * Aborted at the end of the exchange, and when the server shuts down. Used by responses that would never end
   * themselves.
   */
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

  /**
   * Returns the exchange of a request that has just arrived; null when the connection is closed and the request needs
   * no answer.
   */
  exchange(req: IncomingMessage, res: ServerResponse): Exchange | null {
    const { socket } = req
    const connection = this.connections.get(socket)
    if (connection?.latest.res === res) return connection.latest
    if (socket.destroyed) return null
    if (connection?.unanswered.size === MAX_PIPELINED_REQUESTS) {
      // Answers go out in order, so an answer would keep all requests before it in memory until the caller reads.
      const fields = { address: socket.remoteAddress, requests: MAX_PIPELINED_REQUESTS }
      this.log.info(fields, 'closed a connection that sent further requests before reading its responses')
      socket.destroy()
      stopReading(socket)
      return null
    }
    const exchange = new Exchange(req, res)
    if (connection === undefined) {
      this.connections.set(socket, { latest: exchange, unanswered: new Set([exchange]) })
      // A response queued after another one gets no event when the connection closes.
      socket.once('close', () => this.closed(socket))
    } else {
      connection.latest = exchange
      connection.unanswered.add(exchange)
    }
    res.on('close', () => this.end(exchange))
    return exchange
  }

  /** Returns the exchange of the connection whose request is still arriving, and the last unanswered one before it. */
  arriving(socket: Socket): { readonly own: Exchange | undefined; readonly before: Exchange | undefined } {
    const { latest, unanswered } = this.connections.get(socket) ?? {}
    const own = latest?.req.complete === false ? latest : undefined
    return { own, before: [...(unanswered ?? [])].filter((exchange) => exchange !== own).at(-1) }
  }

  /** Ends open-ended responses, and closes each connection after its answers. Resolves when all answers are sent. */
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
    // The headers of a response that began before the shutdown told the caller that the connection stays open.
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

/** Tells the parser that the following bytes are not HTTP. */
const UPGRADED = 2

/**
 * Node reads up to 64 KiB at a time and parses every request in it, even after the connection is closed: thousands for
 * nothing. Node has no public way to stop that. If this private one disappears, those requests only cost time.
 */
function stopReading(socket: Socket & { parser?: Parser | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => UPGRADED
}
