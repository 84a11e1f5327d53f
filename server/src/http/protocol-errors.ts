/**
 * Answers protocol errors: bytes that are not valid HTTP, and requests that do not arrive in time. Node would answer them
 * without a body and without a request id. Closes a connection with too many pipelined requests.
 */
import { type IncomingMessage, maxHeaderSize, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '@countersign/contract'
import { DomainError } from '../domain-error.js'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import { securityHeaders } from './express-reply.js'
import { problemReply } from './problem.js'
import { requestIdOf, withRequestId } from './request-id.js'

interface ProtocolError {
  readonly status: number
  readonly detail: string
  readonly code?: ErrorCode
  /** Node's error code. For the log. */
  readonly cause?: string
}

interface Connection {
  /** The newest request, which may still be arriving. */
  latest: ServerResponse
  readonly unanswered: Set<ServerResponse>
}

/** How long a caller may still send after a protocol error: a connection that is reset at once could lose the answer. */
const LINGER_MS = 1000

/** How many requests of one connection may wait for their answers. Few clients send a second one before the first answer. */
export const MAX_PIPELINED_REQUESTS = 16

const NO_HOST: ProtocolError = { status: 400, detail: 'The Host header is missing.' }
const UNKNOWN_EXPECTATION: ProtocolError = { status: 417, detail: 'The Expect header must be 100-continue.' }

export class ProtocolErrors {
  private readonly connections = new Map<Socket, Connection>()
  private readonly failed = new WeakSet<Socket>()
  private readonly securityHeaders = securityHeaders()

  constructor(private readonly deps: { readonly clock: Clock; readonly ids: Ids; readonly log: Log }) {}

  /** To be called before the server listens. The server must leave the check of the header Host to `accepts`. */
  watch(server: Server): void {
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.onClientError(error, socket as Socket))
    server.on('checkExpectation', (req, res) => {
      if (this.register(req, res)) this.answer(res, UNKNOWN_EXPECTATION)
    })
  }

  /** To be called for every request. False when the request was answered or dropped here. */
  accepts(req: IncomingMessage, res: ServerResponse): boolean {
    if (!this.register(req, res)) return false
    // RFC 9112, 3.2.
    if (req.headers.host !== undefined || req.httpVersion !== '1.1') return true
    this.answer(res, NO_HOST)
    return false
  }

  unanswered(): ServerResponse[] {
    return [...this.connections.values()].flatMap(({ unanswered }) => [...unanswered])
  }

  /** False for a request that is dropped: nothing is to be done for it. */
  private register({ socket }: IncomingMessage, res: ServerResponse): boolean {
    if (socket.destroyed) return false
    const { unanswered } = this.connection(socket, res)
    if (unanswered.size === MAX_PIPELINED_REQUESTS) {
      // An answer in order would hold all requests before it in memory until the caller reads.
      const fields = { address: socket.remoteAddress, requests: MAX_PIPELINED_REQUESTS }
      this.deps.log.info(fields, 'closed a connection that sent further requests before reading its responses')
      socket.destroy()
      stopReading(socket)
      return false
    }
    unanswered.add(res)
    res.once('close', () => unanswered.delete(res))
    return true
  }

  private connection(socket: Socket, latest: ServerResponse): Connection {
    const known = this.connections.get(socket)
    if (known !== undefined) {
      known.latest = latest
      return known
    }
    const opened = { latest, unanswered: new Set<ServerResponse>() }
    this.connections.set(socket, opened)
    // A response that waits behind another one gets no event when the connection closes.
    socket.once('close', () => this.connections.delete(socket))
    return opened
  }

  private onClientError(cause: NodeJS.ErrnoException, socket: Socket): void {
    const error = protocolErrorOf(cause)
    // A parser that has failed reports the error again for all bytes that follow.
    if (error !== null && this.failed.has(socket)) return
    if (error === null || !socket.writable) {
      socket.destroy()
      return
    }
    this.failed.add(socket)
    this.answerInOrder(socket, error)
  }

  /** Earlier requests of the connection are answered first. */
  private answerInOrder(socket: Socket, error: ProtocolError): void {
    // The answer before was the last one of the connection.
    if (!socket.writable) return
    const { latest, unanswered } = this.connections.get(socket) ?? {}
    const own = latest?.req.complete === false ? latest : undefined
    const before = [...(unanswered ?? [])].filter((res) => res !== own).at(-1)
    if (before !== undefined) before.once('close', () => this.answerInOrder(socket, error))
    else if (own === undefined) {
      socket.end(this.bytes(error))
      const timer = setTimeout(() => socket.destroy(), LINGER_MS)
      socket.once('close', () => clearTimeout(timer))
    } else {
      // Destroying the socket also ends the handler that reads the body or is about to answer.
      if (!own.headersSent) socket.write(this.bytes(error, own.req))
      socket.destroySoon()
    }
  }

  private answer(res: ServerResponse, error: ProtocolError): void {
    const { headers, text } = this.reply(error, res.req)
    res.writeHead(error.status, headers).end(res.req.method === 'HEAD' ? undefined : text)
  }

  private bytes(error: ProtocolError, req?: IncomingMessage): string {
    const { headers, text } = this.reply(error, req)
    const lines = Object.entries({ ...headers, Date: this.deps.clock.now().toUTCString() }).map(
      ([name, value]) => `${name}: ${value}`,
    )
    return [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`, ...lines, '', text].join('\r\n')
  }

  private reply({ status, detail, code = 'validation_failed', cause }: ProtocolError, req?: IncomingMessage) {
    const { ids, log } = this.deps
    const requestId = requestIdOf(req?.headers['x-request-id'], ids)
    const problem = withRequestId(problemReply(new DomainError(code, { detail }), requestId, log), requestId)
    const text = JSON.stringify({ ...(problem.body as object), status })
    const size = { 'Content-Length': String(Buffer.byteLength(text)), Connection: 'close' }
    log.info({ request_id: requestId, status, cause }, 'rejected an invalid HTTP request')
    return { headers: { ...this.securityHeaders, ...problem.headers, ...size }, text }
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

/** Null when the connection itself is broken. */
function protocolErrorOf({ code: cause }: NodeJS.ErrnoException): ProtocolError | null {
  if (cause === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408, detail: 'The request did not arrive in time.', cause }
  if (cause === undefined || !cause.startsWith('HPE_')) return null
  if (cause === 'HPE_HEADER_OVERFLOW')
    return { status: 431, detail: `The headers are larger than ${maxHeaderSize / 1024} KiB.`, cause }
  if (cause === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return {
      status: 413,
      code: 'body_too_large',
      detail: 'The chunk extensions of the body are too large.',
      cause,
    }
  return { status: 400, detail: 'The request is not valid HTTP/1.1.', cause }
}
