/** Servers and clients of both majors over HTTP, with the proxy between them. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StreamableHTTPClientTransport as ClientTransportV2, Client as ClientV2 } from '@modelcontextprotocol/client'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as ClientTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler, type McpServer as McpServerV2 } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'
import { type HttpProxyOptions, startHttpProxy } from '../src/proxy/http/http-proxy.js'
import type { Rig } from './rig.js'
import type { HighLevelServer, Sdk } from './sdks.js'

/** What a server was sent, before anything read it. */
interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
}

export interface Upstream {
  readonly url: URL
  readonly seen: SeenRequest[]
  /** Breaks all connections that are open. */
  cut(): void
  /** Takes no more connections, and breaks those that are open. */
  stop(): Promise<void>
}

/**
 * A server on a free port of loopback.
 *
 * @param onEnd stops it: at the end of the test, unless tests run side by side, which cannot tell whose end it is
 */
export async function serve(
  listener: RequestListener,
  onEnd: typeof onTestFinished = onTestFinished,
): Promise<Upstream> {
  const seen: SeenRequest[] = []
  const server = createServer((request, response) => {
    seen.push({ method: request.method!, url: request.url!, headers: request.headers })
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  onEnd(stop)
  const { port } = server.address() as AddressInfo
  return { url: new URL(`http://127.0.0.1:${port}/server`), seen, cut: () => server.closeAllConnections(), stop }
}

export interface ServingOptions {
  /** An answer of one JSON text, and no stream. */
  readonly json?: boolean
  /** Remembers events, so that streams can be resumed. */
  readonly resumable?: boolean
  /** How long it asks its clients to wait before that. */
  readonly retryMs?: number
  /** The caller stops it, as where tests run side by side. */
  readonly isStoppedByCaller?: boolean
}

interface ServerTransport {
  readonly sessionId?: string | undefined
  handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** A server with sessions. */
export function serveSessions(
  sdk: Sdk,
  make: () => HighLevelServer,
  { json = false, resumable = false, retryMs, isStoppedByCaller = false }: ServingOptions = {},
): Promise<Upstream> {
  const transports = new Map<string, ServerTransport>()
  const open = async (): Promise<ServerTransport> => {
    const options = {
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: json,
      onsessioninitialized: (id: string) => void transports.set(id, transport),
      onsessionclosed: (id: string) => void transports.delete(id),
      ...(resumable && { eventStore: new EventMemory() }),
      ...(retryMs !== undefined && { retryInterval: retryMs }),
    }
    const transport: ServerTransport =
      sdk.major === 1 ? new StreamableHTTPServerTransport(options) : new NodeStreamableHTTPServerTransport(options)
    await make().connect(transport)
    return transport
  }
  return serve(
    async (request, response) => {
      const id = request.headers['mcp-session-id']
      const known = typeof id === 'string' ? transports.get(id) : undefined
      if (id !== undefined && known === undefined) {
        response.writeHead(404, { 'content-type': 'application/json' })
        response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}')
      } else await (known ?? (await open())).handleRequest(request, response)
    },
    isStoppedByCaller ? () => undefined : onTestFinished,
  )
}

/** A server of 2026-07-28, without sessions, which also serves clients of before. */
export function serveStateless(make: () => HighLevelServer): Promise<Upstream> {
  const handler = createMcpHandler(() => make() as unknown as McpServerV2)
  onTestFinished(() => handler.close())
  return serve(toNodeHandler(handler) as RequestListener)
}

/** The event store that a server needs for streams to be resumed. */
class EventMemory {
  readonly #events: { readonly id: string; readonly streamId: string; readonly message: unknown }[] = []

  async storeEvent(streamId: string, message: unknown): Promise<string> {
    const id = `event-${this.#events.length}`
    this.#events.push({ id, streamId, message })
    return id
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find((event) => event.id === id)?.streamId
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { readonly send: (id: string, message: never) => Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex(({ id }) => id === lastId)
    const { streamId } = this.#events[at]!
    for (const event of this.#events.slice(at + 1))
      if (event.streamId === streamId && Object.keys(event.message as object).length > 0)
        await send(event.id, event.message as never)
    return streamId
  }
}

export interface StartedProxy {
  readonly url: URL
  readonly log: string[]
  close(): Promise<void>
}

/** The proxy in front of it, until the test is over. */
export async function proxyOf(
  rig: Rig,
  upstream: URL,
  { gate = {}, ...change }: Partial<Omit<HttpProxyOptions, 'gate'>> & { readonly gate?: object } = {},
): Promise<StartedProxy> {
  const log: string[] = []
  const { url, close } = await startHttpProxy({
    listen: { host: '127.0.0.1', port: 0 },
    upstream,
    config: {},
    gate: rig.options(gate),
    log: { warn: (line) => void log.push(line), error: (line) => void log.push(line) },
    ...change,
  })
  let closing: Promise<void> | undefined
  const closeOnce = (): Promise<void> => {
    closing ??= close()
    return closing
  }
  onTestFinished(closeOnce)
  return { url: new URL(url), log, close: closeOnce }
}

interface ClientOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly capabilities?: object
  // biome-ignore lint/suspicious/noExplicitAny: of either major.
  readonly prepare?: (client: any) => void
}

/** A client of either major, and in 2.x of either era. */
export interface HttpClientKind {
  readonly name: string
  readonly major: 1 | 2
  readonly isModern: boolean
  // biome-ignore lint/suspicious/noExplicitAny: the client and its transport are those of either major.
  readonly connect: (url: URL, options?: ClientOptions) => Promise<{ client: any; transport: any }>
}

const INFO = { name: 'rig', version: '1.0.0' }
const RECONNECTING = {
  initialReconnectionDelay: 1,
  maxReconnectionDelay: 10,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 5,
}

function kind(name: string, major: 1 | 2, isModern: boolean): HttpClientKind {
  return {
    name,
    major,
    isModern,
    async connect(url, { headers = {}, capabilities = {}, prepare } = {}) {
      const options = { requestInit: { headers }, reconnectionOptions: RECONNECTING }
      const transport = major === 1 ? new ClientTransportV1(url, options) : new ClientTransportV2(url, options)
      const client =
        major === 1
          ? new ClientV1(INFO, { capabilities })
          : new ClientV2(INFO, { capabilities, versionNegotiation: { mode: isModern ? 'auto' : 'legacy' } })
      prepare?.(client)
      await client.connect(transport as never)
      onTestFinished(() => client.close())
      return { client, transport }
    },
  }
}

export const CLIENT_V1 = kind('a client 1.x', 1, false)
export const CLIENT_V2 = kind('a client 2.x', 2, false)
export const MODERN_CLIENT = kind('a client 2.x of 2026-07-28', 2, true)

export const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A POST as a client makes it. */
export function post(url: URL, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    redirect: 'manual',
  })
}

/** The id of a session that was opened by hand. */
export async function openSession(url: URL, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO }
  const response = await post(url, { jsonrpc: '2.0', id: 'open', method: 'initialize', params }, headers)
  await response.text()
  const id = response.headers.get('mcp-session-id')!
  const initialized = await post(
    url,
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { ...headers, 'mcp-session-id': id },
  )
  await initialized.text()
  return id
}

export const callMessage = (id: unknown, name = 'allow', args: object = { n: 1 }) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** The messages of a stream of events. */
export function messagesOf(stream: string): Record<string, unknown>[] {
  return stream.split('\n').flatMap((line) => (/^data: \{/.test(line) ? [JSON.parse(line.slice(6))] : []))
}
