/** A server that answers as a test tells it, faults included: what a real decision point would not do on demand. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request as it came over the wire. */
export interface ReceivedRequest {
  readonly method: string
  /** Path and query, not decoded. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type StubAnswer = (request: ReceivedRequest, response: ServerResponse) => void

export interface StubDecisionPoint {
  readonly url: string
  /** Every request that came whole, oldest first. */
  readonly requests: readonly ReceivedRequest[]
  /** How many connections were ever accepted. */
  connectionCount(): number
  /** Sets the answers to the next requests; the last one answers all that follow. */
  answer(first: StubAnswer, ...next: readonly StubAnswer[]): void
  /** Resolves with the next request that comes whole. */
  nextRequest(): Promise<ReceivedRequest>
  /** Ends connections that wait for a next request, as a server does when they idle too long. */
  closeIdleConnections(): void
  close(): Promise<void>
}

/** Listens on a free port of 127.0.0.1. */
export async function startStubDecisionPoint(first: StubAnswer): Promise<StubDecisionPoint> {
  const requests: ReceivedRequest[] = []
  const sockets = new Set<Socket>()
  const waiting: ((request: ReceivedRequest) => void)[] = []
  let answers: StubAnswer[] = [first]
  let connections = 0

  const server = createServer((incoming, response) => {
    const reply = (request: ReceivedRequest): void => {
      requests.push(request)
      for (const resolve of waiting.splice(0)) resolve(request)
      const [present] = answers
      if (answers.length > 1) answers.shift()
      present?.(request, response)
    }
    // A client that goes away before its request is whole has nothing to be answered.
    void readRequest(incoming).then(reply, () => undefined)
  })
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Faults are what a stub is for: a peer that goes away is none of its own.
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    connectionCount: () => connections,
    answer(next, ...further) {
      answers = [next, ...further]
    },
    nextRequest: () => new Promise((resolve) => waiting.push(resolve)),
    closeIdleConnections: () => server.closeIdleConnections(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

async function readRequest(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Uint8Array[] = []
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
  return {
    method: incoming.method ?? '',
    url: incoming.url ?? '',
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  }
}
