/** Both majors of the SDK, with servers and clients of the same form, connected in memory. */
import {
  Client as ClientV2,
  InMemoryTransport as PairV2,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport as PairV1 } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server as ServerV1 } from '@modelcontextprotocol/sdk/server/index.js'
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { CallToolRequestSchema, ListToolsRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { createMcpHandler, McpServer as McpServerV2, Server as ServerV2 } from '@modelcontextprotocol/server'

/** A result of `tools/call`, as the tool gives it and as the client gets it. */
export interface CallResult {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly [member: string]: unknown }[]
  readonly isError?: boolean
  readonly structuredContent?: Record<string, unknown>
  readonly _meta?: Record<string, unknown>
  readonly [member: string]: unknown
}

/** What a tool is registered with: schemas of zod. */
export interface ToolConfig {
  readonly title?: string
  readonly description?: string
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  readonly annotations?: Record<string, unknown>
  readonly _meta?: Record<string, unknown>
}

/** `context` is the `extra` of 1.x and the `ctx` of 2.x; a tool without an `inputSchema` has it in the place of `args`. */
// biome-ignore lint/suspicious/noExplicitAny: as the tools of both majors have them.
export type ToolWork = (args: any, context: any) => unknown

export interface RegisteredTool {
  update(change: { readonly name?: string | null; readonly callback?: ToolWork; readonly paramsSchema?: unknown }): void
  enable(): void
  disable(): void
  remove(): void
}

export type Handler = (request: { readonly method: string; readonly params?: unknown }, context: never) => unknown

/** `Server` of both majors, as far as they are the same. */
export interface LowLevelServer {
  connect(transport: unknown): Promise<void>
  close(): Promise<void>
  removeRequestHandler(method: string): void
  registerCapabilities(capabilities: object): void
  fallbackRequestHandler?: Handler | undefined
  oninitialized?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  /** Private in both: what they look handlers up in. */
  _requestHandlers: Map<string, Handler>
}

/** `McpServer` of both majors, as far as they are the same. */
export interface HighLevelServer {
  readonly server: LowLevelServer
  registerTool(name: string, config: ToolConfig, work: ToolWork): RegisteredTool
  connect(transport: unknown): Promise<void>
  close(): Promise<void>
}

interface CallSettings {
  readonly signal?: AbortSignal
  /** In milliseconds, until the client gives up and cancels. */
  readonly timeout?: number
  readonly onprogress?: (progress: { readonly progress: number }) => void
  readonly _meta?: Record<string, unknown>
}

/** A client that is connected to one server. */
export interface ConnectedClient {
  call(name: string, args?: Record<string, unknown>, settings?: CallSettings): Promise<CallResult>
  /** The names of one page, or of all pages. */
  list(): Promise<string[]>
  listPage(
    cursor?: string,
  ): Promise<{ readonly tools: readonly { readonly name: string }[]; readonly [member: string]: unknown }>
  /** Any request, with any params; resolves with the raw result. */
  request(method: string, params?: unknown): Promise<Record<string, unknown>>
  /** The client of the SDK itself. */
  // biome-ignore lint/suspicious/noExplicitAny: of either major.
  readonly sdk: any
  close(): Promise<void>
}

/** Who the transport says that calls; read for each message. */
export type Caller = () => { readonly clientId?: string; readonly token: string; readonly scopes: string[] } | undefined

export interface ClientSettings {
  readonly capabilities?: object
  readonly caller?: Caller
  /** Before it connects, such as to set handlers. */
  // biome-ignore lint/suspicious/noExplicitAny: of either major.
  readonly prepare?: (client: any) => void
  /** Wraps the transport of the server. */
  readonly around?: <Transport extends object>(transport: Transport) => Transport
}

export interface Sdk {
  /** For the titles of tests. */
  readonly name: string
  readonly major: 1 | 2
  readonly mcpServer: (options?: object) => HighLevelServer
  readonly lowLevelServer: (options?: object) => LowLevelServer
  /** `setRequestHandler`, which takes a schema in 1.x and the method in 2.x. */
  readonly setHandler: (server: LowLevelServer, method: 'tools/call' | 'tools/list', handler: Handler) => void
  /** Connects the server to a new client of the same major. */
  readonly connect: (server: HighLevelServer | LowLevelServer, settings?: ClientSettings) => Promise<ConnectedClient>
}

const asItIs = <Transport>(transport: Transport): Transport => transport

const INFO = { name: 'rig', version: '1.0.0' }

const v1: Sdk = {
  name: 'sdk 1.x',
  major: 1,
  mcpServer: (options) => new McpServerV1(INFO, options) as unknown as HighLevelServer,
  lowLevelServer: (options) => new ServerV1(INFO, options) as unknown as LowLevelServer,
  setHandler(server, method, handler) {
    const schema = method === 'tools/call' ? CallToolRequestSchema : ListToolsRequestSchema
    ;(server as unknown as ServerV1).setRequestHandler(schema, handler as never)
  },
  async connect(server, { capabilities = {}, caller, prepare, around = asItIs } = {}) {
    const [near, far] = PairV1.createLinkedPair()
    identify(near, caller)
    const client = new ClientV1(INFO, { capabilities })
    prepare?.(client)
    await Promise.all([server.connect(around(far)), client.connect(near)])
    return {
      sdk: client,
      call: async (name, args, { _meta, ...settings } = {}) =>
        (await client.callTool(
          { name, ...(args && { arguments: args }), ...(_meta && { _meta }) },
          undefined,
          settings,
        )) as CallResult,
      ...listing(client),
      request: (method, params) => client.request({ method, params } as never, ResultSchema),
      close: () => client.close(),
    }
  },
}

const v2: Sdk = {
  name: 'server 2.x',
  major: 2,
  mcpServer: (options) => new McpServerV2(INFO, options) as unknown as HighLevelServer,
  lowLevelServer: (options) => new ServerV2(INFO, options) as unknown as LowLevelServer,
  setHandler: (server, method, handler) => (server as unknown as ServerV2).setRequestHandler(method, handler as never),
  async connect(server, { capabilities = {}, caller, prepare, around = asItIs } = {}) {
    const [near, far] = PairV2.createLinkedPair()
    identify(near, caller)
    const client = new ClientV2(INFO, { capabilities })
    prepare?.(client)
    await Promise.all([server.connect(around(far)), client.connect(near)])
    return connectedV2(client)
  },
}

/** Both majors, for `describe.each`. */
export const SDKS: readonly Sdk[] = [v1, v2]

/** A client of protocol 2026-07-28, for servers that `createMcpHandler` makes for each request. */
export async function connectStateless(
  factory: () => HighLevelServer | LowLevelServer,
  { capabilities = {}, caller, prepare, legacy = false }: ClientSettings & { readonly legacy?: boolean } = {},
): Promise<ConnectedClient> {
  const handler = createMcpHandler(() => factory() as unknown as McpServerV2)
  const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), {
    fetch: (url, init) => {
      const authInfo = caller?.()
      return handler.fetch(new Request(url, init), authInfo && { authInfo: authInfo as never })
    },
  })
  const client = new ClientV2(INFO, { capabilities, versionNegotiation: { mode: legacy ? 'legacy' : 'auto' } })
  prepare?.(client)
  await client.connect(transport)
  const connected = connectedV2(client)
  return { ...connected, close: async () => void (await Promise.all([connected.close(), handler.close()])) }
}

function connectedV2(client: ClientV2): ConnectedClient {
  const anything = { '~standard': { version: 1, vendor: 'rig', validate: (value: unknown) => ({ value }) } }
  return {
    sdk: client,
    call: async (name, args, { _meta, ...settings } = {}) =>
      (await client.callTool(
        { name, ...(args && { arguments: args }), ...(_meta && { _meta }) } as never,
        settings,
      )) as CallResult,
    ...listing(client),
    request: (method, params) => client.request({ method, params } as never, anything as never),
    close: () => client.close(),
  }
}

function listing(client: ClientV1 | ClientV2): Pick<ConnectedClient, 'list' | 'listPage'> {
  const listPage = async (cursor?: string) => (await client.listTools(cursor === undefined ? {} : { cursor })) as never
  return {
    listPage,
    async list() {
      const names: string[] = []
      let cursor: string | undefined
      do {
        const page: { tools: { name: string }[]; nextCursor?: string } = await listPage(cursor)
        names.push(...page.tools.map(({ name }) => name))
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return names
    },
  }
}

/** Sends each message as the caller of the moment. */
function identify(transport: PairV1 | PairV2, caller: Caller | undefined): void {
  const send = transport.send.bind(transport) as (message: never, options?: object) => Promise<void>
  transport.send = (message: object, options?: object) => send(message as never, { ...options, authInfo: caller?.() })
}
