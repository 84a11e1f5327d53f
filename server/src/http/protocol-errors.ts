/**
 * Answers protocol errors: bytes that are not valid HTTP, and requests that do not arrive in time. Node would answer them
 * without a body and without a request id.
 */
import { type IncomingMessage, maxHeaderSize, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '@countersign/contract'
import { DomainError } from '../domain-error.js'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import type { Connections } from './connections.js'
import { problemReply } from './problem.js'
import { requestIdOf } from './request-id.js'
import { headOf } from './send.js'

interface ProtocolError {
  readonly status: number
  readonly detail: string
  /** A place in the request; absent when no part can be named. */
  readonly pointer?: string
  readonly code?: ErrorCode
  /** Node's error code, for the log. */
  readonly cause?: string
}

export interface ProtocolErrorsDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly connections: Connections
}

/**
 * How long a caller may keep sending after a protocol error: resetting the connection at once could lose the answer.
 */
const LINGER_MS = 1000

const NO_HOST: ProtocolError = { status: 400, pointer: '/Host', detail: 'The Host header is missing.' }
const UNKNOWN_EXPECTATION: ProtocolError = {
  status: 417,
  pointer: '/Expect',
  detail: 'The Expect header must be 100-continue.',
}

export class ProtocolErrors {
  private readonly failed = new WeakSet<Socket>()

  constructor(private readonly deps: ProtocolErrorsDeps) {}

  /** Call this before the server listens. The server must leave the check of the Host header to `accepts`. */
  watch(server: Server): void {
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.onClientError(error, socket as Socket))
    server.on('checkExpectation', (req, res) => this.answer(req, res, UNKNOWN_EXPECTATION))
  }

  /** Call this for every request. Returns false when it has answered the request. */
  accepts(req: IncomingMessage, res: ServerResponse): boolean {
    // RFC 9112, 3.2.
    if (req.headers.host !== undefined || req.httpVersion !== '1.1') return true
    this.answer(req, res, NO_HOST)
    return false
  }

  private onClientError(cause: NodeJS.ErrnoException, socket: Socket): void {
    const error = protocolErrorOf(cause)
    // A failed parser reports the error again for all following bytes.
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
    // The previous answer was the last one of the connection.
    if (!socket.writable) return
    const { own, before } = this.deps.connections.arriving(socket)
    if (before !== undefined) before.res.once('close', () => this.answerInOrder(socket, error))
    else if (own === undefined) {
      socket.end(this.bytes(error))
      const timer = setTimeout(() => socket.destroy(), LINGER_MS)
      socket.once('close', () => clearTimeout(timer))
    } else {
      // Destroying the socket also ends the handler that reads the body or is about to answer.
      if (!own.res.headersSent) socket.write(this.bytes(error, own.req))
      socket.destroySoon()
    }
  }

  private answer(req: IncomingMessage, res: ServerResponse, error: ProtocolError): void {
    if (this.deps.connections.exchange(req, res) === null) return
    const { head, text } = this.reply(error, req)
    res.writeHead(error.status, head).end(req.method === 'HEAD' ? undefined : text)
  }

  private bytes(error: ProtocolError, req?: IncomingMessage): string {
    const { head, text } = this.reply(error, req)
    head.push('Date', this.deps.clock.now().toUTCString())
    const lines = head.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${head[i + 1]}`] : []))
    return [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`, ...lines, '', text].join('\r\n')
  }

  private reply(
    { status, detail, pointer = '', code = 'validation_failed', cause }: ProtocolError,
    req?: IncomingMessage,
  ) {
    const { ids, log } = this.deps
    const requestId = requestIdOf(req?.headers['x-request-id'], ids)
    const errors = code === 'validation_failed' && { errors: [{ pointer, detail }] }
    const problem = problemReply(new DomainError(code, { detail, ...errors }), requestId, log)
    const text = JSON.stringify({ ...(problem.body as object), status })
    log.info({ request_id: requestId, status, cause }, 'rejected an invalid HTTP request')
    const head = headOf(problem.headers, requestId)
    head.push('Content-Length', String(Buffer.byteLength(text)), 'Connection', 'close')
    return { head, text }
  }
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
