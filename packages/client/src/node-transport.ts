import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import {
  AnswerTooLarge,
  BodyCollector,
  type OpenTransport,
  type TransportAnswer,
  type TransportOptions,
  type TransportRequest,
  type TransportStream,
} from './transport.js'

/**
 * The most connections to one decision point; further calls wait for a free one, within their own time limit. Long
 * polls have separate connections, so that any number of awaited reviews blocks nothing else.
 */
const MAX_SOCKETS = 128

/** The transport for Node: keep-alive connections, which do not keep the process alive while they are idle. */
export const openNodeTransport: OpenTransport = (options) => {
  const calls = openAgents(MAX_SOCKETS)
  const longPolls = openAgents(Number.POSITIVE_INFINITY)
  /** Resolves with the value that `take` makes of the answer. */
  const exchange = async <Taken>(request: TransportRequest, take: Take<Taken>): Promise<Taken> => {
    const agents = request.isLongPoll ? longPolls : calls
    const url = new URL(request.url)
    const start = (): ClientRequest =>
      url.protocol === 'https:'
        ? https.request(url, { method: request.method, headers: { ...request.headers }, agent: agents.https })
        : http.request(url, { method: request.method, headers: { ...request.headers }, agent: agents.http })
    for (;;) {
      const taken = await exchangeOnce(start(), request, options, take)
      if (taken !== 'stale') return taken
    }
  }
  return {
    send: (request) =>
      exchange(request, async (incoming) => toAnswer(incoming, await readBody(incoming, options.maxBytes))),
    stream: (request) => exchange(request, toStream),
    close(): void {
      for (const agent of [...Object.values(calls), ...Object.values(longPolls)]) agent.destroy()
    },
  }
}

/** Agents unref a socket when it becomes idle and ref it again for the next request. */
function openAgents(maxSockets: number): { readonly http: http.Agent; readonly https: https.Agent } {
  const options = { keepAlive: true, maxSockets }
  return { http: new http.Agent(options), https: new https.Agent(options) }
}

type Take<Taken> = (incoming: IncomingMessage) => Taken | Promise<Taken>

/**
 * Sends one request on one socket. The signal ends it until the body has been read, even after `take` has resolved.
 *
 * `stale`: the kept connection was closed before an answer began, most likely while it was idle. Sending again is safe:
 * every POST that creates or changes state has an idempotency key, and repeating PUT and DELETE leaves the same state.
 */
function exchangeOnce<Taken>(
  outgoing: ClientRequest,
  { body, signal }: TransportRequest,
  { connectTimeoutMs }: TransportOptions,
  take: Take<Taken>,
): Promise<Taken | 'stale'> {
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const fail = (error: unknown): void => {
      // Rejects first: destroying emits another error, which must not win.
      reject(error)
      outgoing.destroy()
    }
    const onAbort = (): void => fail(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    outgoing.on('close', () => signal.removeEventListener('abort', onAbort))
    outgoing.on('socket', (socket) => limitConnect(socket, connectTimeoutMs, outgoing))
    outgoing.on('error', (error) => {
      if (!outgoing.reusedSocket || isAnswered || signal.aborted) return fail(error)
      resolve('stale')
    })
    outgoing.on('response', (incoming) => {
      isAnswered = true
      Promise.resolve(take(incoming)).then(resolve, fail)
    })
    outgoing.end(body)
  })
}

function limitConnect(socket: Socket, connectTimeoutMs: number, outgoing: ClientRequest): void {
  // A kept connection is already established.
  if (!socket.connecting) return
  const timer = setTimeout(() => {
    outgoing.destroy(new Error(`not connected within ${connectTimeoutMs} ms`))
  }, connectTimeoutMs)
  const stop = (): void => clearTimeout(timer)
  socket.once('encrypted' in socket ? 'secureConnect' : 'connect', stop)
  socket.once('close', stop)
}

function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const collector = new BodyCollector(maxBytes)
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk: Uint8Array) => {
      if (!collector.add(chunk)) reject(new AnswerTooLarge(incoming.statusCode ?? 0))
    })
    incoming.on('end', () => resolve(collector.body()))
    // A truncated body ends in an error here.
    incoming.on('error', reject)
  })
}

function toAnswer(incoming: IncomingMessage, body: Uint8Array): TransportAnswer {
  return { ...headOf(incoming), body }
}

function toStream(incoming: IncomingMessage): TransportStream {
  // A caller that waits for a chunk keeps the process alive with its own time limit. A stream without a waiting caller
  // must not.
  incoming.socket.unref()
  return { ...headOf(incoming), chunks: incoming }
}

function headOf(incoming: IncomingMessage) {
  return {
    status: incoming.statusCode ?? 0,
    header(name: string) {
      const value = incoming.headers[name]
      return (Array.isArray(value) ? value.join(', ') : value) ?? null
    },
  }
}
