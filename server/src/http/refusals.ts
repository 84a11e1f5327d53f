/**
 * Answers what never becomes a request of ours: what is no HTTP, or does not come in time. Node would answer it with
 * neither a body nor a request id. Ends connections on which more is asked at once than is answered.
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

interface Refusal {
  readonly status: number
  readonly detail: string
  readonly code?: ErrorCode
  /** What Node says was wrong. For the log. */
  readonly cause?: string
}

interface Connection {
  /** The request that came last, of which there may be more to come. */
  latest: ServerResponse
  readonly unanswered: Set<ServerResponse>
}

/** So long a caller may go on sending what nobody reads: a connection cut off at once could lose it the answer. */
const LINGER_MS = 1000

/** So many requests may wait for their answers on one connection. Few clients send a second one before the first answer. */
export const REQUESTS_AT_ONCE = 16

const NO_HOST: Refusal = { status: 400, detail: 'The header Host is missing.' }
const UNKNOWN_EXPECTATION: Refusal = { status: 417, detail: 'The header Expect may be 100-continue only.' }

export class Refusals {
  private readonly connections = new Map<Socket, Connection>()
  private readonly refused = new WeakSet<Socket>()
  private readonly securityHeaders = securityHeaders()

  constructor(private readonly deps: { readonly clock: Clock; readonly ids: Ids; readonly log: Log }) {}

  /** To be called before the server listens; it has to leave the header Host to `admits`. */
  watch(server: Server): void {
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.meet(error, socket as Socket))
    server.on('checkExpectation', (req, res) => {
      if (this.note(req, res)) this.answer(res, UNKNOWN_EXPECTATION)
    })
  }

  /** Whether the request is one to be answered; else it is answered here. Every request has to be told of. */
  admits(req: IncomingMessage, res: ServerResponse): boolean {
    if (!this.note(req, res)) return false
    // As RFC 9112, 3.2 has it.
    if (req.headers.host !== undefined || req.httpVersion !== '1.1') return true
    this.answer(res, NO_HOST)
    return false
  }

  /** All that are not answered yet. */
  unanswered(): ServerResponse[] {
    return [...this.connections.values()].flatMap(({ unanswered }) => [...unanswered])
  }

  /** False for what is dropped: nothing is to be done for it. */
  private note({ socket }: IncomingMessage, res: ServerResponse): boolean {
    if (socket.destroyed) return false
    const { unanswered } = this.connection(socket, res)
    if (unanswered.size === REQUESTS_AT_ONCE) {
      // An answer in its turn would keep all that came with it until the caller reads.
      const fields = { address: socket.remoteAddress, requests: REQUESTS_AT_ONCE }
      this.deps.log.info(fields, 'ended a connection that asked for more before its answers were sent')
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
    const begun = { latest, unanswered: new Set<ServerResponse>() }
    this.connections.set(socket, begun)
    // An answer that waits for its turn is not told when the connection is gone.
    socket.once('close', () => this.connections.delete(socket))
    return begun
  }

  private meet(error: NodeJS.ErrnoException, socket: Socket): void {
    const refusal = refusalOf(error)
    // A reader that has failed tells it again of all that still comes.
    if (refusal !== null && this.refused.has(socket)) return
    if (refusal === null || !socket.writable) {
      socket.destroy()
      return
    }
    this.refused.add(socket)
    this.refuse(socket, refusal)
  }

  /** Answers in its turn: what came before on the connection is answered first. */
  private refuse(socket: Socket, refusal: Refusal): void {
    // The answer before was the last of the connection.
    if (!socket.writable) return
    const { latest, unanswered } = this.connections.get(socket) ?? {}
    const own = latest?.req.complete === false ? latest : undefined
    const before = [...(unanswered ?? [])].filter((res) => res !== own).at(-1)
    if (before !== undefined) before.once('close', () => this.refuse(socket, refusal))
    else if (own === undefined) {
      socket.end(this.bytes(refusal))
      const timer = setTimeout(() => socket.destroy(), LINGER_MS)
      socket.once('close', () => clearTimeout(timer))
    } else {
      // Whoever reads the body, or is about to answer, learns at once that it is over.
      if (!own.headersSent) socket.write(this.bytes(refusal, own.req))
      socket.destroySoon()
    }
  }

  private answer(res: ServerResponse, refusal: Refusal): void {
    const { headers, text } = this.reply(refusal, res.req)
    res.writeHead(refusal.status, headers).end(res.req.method === 'HEAD' ? undefined : text)
  }

  private bytes(refusal: Refusal, req?: IncomingMessage): string {
    const { headers, text } = this.reply(refusal, req)
    const lines = Object.entries({ ...headers, Date: this.deps.clock.now().toUTCString() }).map(
      ([name, value]) => `${name}: ${value}`,
    )
    return [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines, '', text].join('\r\n')
  }

  private reply({ status, detail, code = 'validation_failed', cause }: Refusal, req?: IncomingMessage) {
    const { ids, log } = this.deps
    const requestId = requestIdOf(req?.headers['x-request-id'], ids)
    const problem = withRequestId(problemReply(new DomainError(code, { detail }), requestId, log), requestId)
    const text = JSON.stringify({ ...(problem.body as object), status })
    const size = { 'Content-Length': String(Buffer.byteLength(text)), Connection: 'close' }
    log.info({ request_id: requestId, status, cause }, 'refused what is no request')
    return { headers: { ...this.securityHeaders, ...problem.headers, ...size }, text }
  }
}

/** What Node's parser does with a request once its headers are read. */
interface Parser {
  onIncoming?: (req: IncomingMessage) => number
}

/** To the parser: what follows is no HTTP any more. */
const UPGRADED = 2

/**
 * Node reads up to 64 KiB at a time, and makes a request of everything in them although the connection has ended: thousands,
 * for nothing. It has no public way to stop that. Where this one is gone, it costs time and nothing else.
 */
function stopReading(socket: Socket & { parser?: Parser | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => UPGRADED
}

/** Null for a connection that is broken. */
function refusalOf({ code: cause }: NodeJS.ErrnoException): Refusal | null {
  if (cause === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408, detail: 'The request did not come in time.', cause }
  if (cause === undefined || !cause.startsWith('HPE_')) return null
  if (cause === 'HPE_HEADER_OVERFLOW')
    return { status: 431, detail: `The headers are larger than ${maxHeaderSize / 1024} KiB.`, cause }
  if (cause === 'HPE_CHUNK_EXTENSIONS_OVERFLOW')
    return {
      status: 413,
      code: 'body_too_large',
      detail: 'The chunks of the body have extensions that are too large.',
      cause,
    }
  return { status: 400, detail: 'This cannot be read as HTTP/1.1.', cause }
}
