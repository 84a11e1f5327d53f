import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { CERTIFICATE } from './certificate.js'

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Null without TLS. */
  readonly servername: string | null
}

export interface Receiver {
  readonly port: number
  /** `http://127.0.0.1:<port>/hook`, or with https. */
  readonly url: string
  readonly received: readonly Received[]
  readonly connectionCount: () => number
  /** Ends what is open, without an answer. */
  readonly dropConnections: () => void
  readonly close: () => Promise<void>
}

/** Answers a request, or leaves it without an answer. */
export type Answer = (received: Received, res: ServerResponse) => void

const answer200: Answer = (_, res) => res.end('ok')

/** A real receiver on this machine. */
export async function startReceiver(answer: Answer = answer200, options: { tls?: boolean } = {}): Promise<Receiver> {
  const received: Received[] = []
  const listener: RequestListener = (req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const { method = '', url: path = '', headers } = req
      const servername = (req.socket as Socket & { servername?: string }).servername ?? null
      const one = { method, path, headers, body: Buffer.concat(chunks), servername }
      received.push(one)
      answer(one, res)
    })
  }
  const server = options.tls ? createTlsServer(CERTIFICATE, listener) : createServer(listener)
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    received,
    connectionCount: () => connections,
    dropConnections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        dropConnections()
      }),
  }
}

export interface Canary {
  readonly port: number
  readonly connectionCount: () => number
  readonly close: () => Promise<void>
}

/** Listens on every address of this machine, and must never be connected to. */
export async function startCanary(): Promise<Canary> {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    connectionCount: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
