/** Connects to a server as an ordinary client, and lists its tools and its other offers. */
import { createRequire } from 'node:module'
import { printable } from '@countersign/client/text'
import { within } from '../../deadline.js'
import { allEntries, type ListTools } from '../../lists/tool-pages.js'
import { isObject } from '../../messages/json-rpc.js'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  HANDSHAKE_REVISION,
  PROTOCOL_VERSION,
  STATELESS_REVISION,
} from '../../messages/protocol.js'
import type { UpstreamSettings } from '../http/http-settings.js'
import { EXIT, type Log } from '../operator.js'
import type { ServerCommand } from '../serve.js'
import { CommandError } from '../stdio/child-process.js'
import { HttpExchange } from './http-exchange.js'
import { type ServerExchange, ServerRefusal } from './server-exchange.js'
import { StdioExchange } from './stdio-exchange.js'

/** Downloading a server before its start takes time. */
const START_MS = 120_000
/** Some servers show certain tools only to clients with these capabilities. */
const CAPABILITIES = { roots: { listChanged: true }, sampling: {}, elicitation: {} }

const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string }
const CLIENT = { name: 'countersign-mcp', version }

/** A server to start, or one that runs elsewhere. */
export type ListedServer = ServerCommand | UpstreamSettings

/** A server whose tools cannot be listed. The message is safe to print. */
export class UnusableServer extends Error {
  override readonly name = 'UnusableServer'

  constructor(cause: unknown) {
    const { message, code } = cause as NodeJS.ErrnoException
    super(`The tools of the server cannot be listed: ${printable(message || String(code))}`, { cause })
  }
}

/** What a server has besides tools, unchecked. */
export interface OtherOffers {
  readonly resources: readonly unknown[]
  readonly resourceTemplates: readonly unknown[]
  readonly prompts: readonly unknown[]
  /** Whether the server completes arguments. */
  readonly completes: boolean
  /** The names of its additions to the protocol. */
  readonly extensions: readonly string[]
}

export interface Offers extends OtherOffers {
  readonly tools: readonly unknown[]
}

/**
 * All tools of a server, unchecked. The server is started and ended, or asked over HTTP.
 *
 * @throws CommandError; UnusableServer for a server that does not answer, refuses, or has an endless list
 */
export function toolsOfServer(server: ListedServer, log: Log): Promise<readonly unknown[]> {
  return asking(server, log, ({ list }) => allEntries('tools', list('tools/list')))
}

/** All offers of a server, unchecked. @throws as `toolsOfServer` */
export function offersOfServer(server: ListedServer, log: Log): Promise<Offers> {
  return asking(server, log, async (asked) => {
    const said = await asked.capabilities()
    const capabilities = said ?? {}
    const hasOthers = isObject(capabilities.resources) || isObject(capabilities.prompts)
    const tools = hasOthers && !isObject(capabilities.tools) ? [] : await allEntries('tools', asked.list('tools/list'))
    const { experimental, extensions } = capabilities
    return {
      tools,
      resources: await listed(said, 'resources', asked.list('resources/list'), 'resources'),
      resourceTemplates: await listed(said, 'resources', asked.list('resources/templates/list'), 'resourceTemplates'),
      prompts: await listed(said, 'prompts', asked.list('prompts/list'), 'prompts'),
      completes: isObject(capabilities.completions),
      extensions: [experimental, extensions].flatMap((one) => (isObject(one) ? Object.keys(one) : [])),
    }
  })
}

/** A list that the server may not have. Empty if the server says so. */
async function listed(
  capabilities: Capabilities | undefined,
  capability: string,
  list: ListTools,
  member: string,
): Promise<readonly unknown[]> {
  if (capabilities !== undefined && !isObject(capabilities[capability])) return []
  try {
    return await allEntries(member, list)
  } catch (error) {
    if (error instanceof ServerRefusal) return []
    throw error
  }
}

type Capabilities = Readonly<Record<string, unknown>>

interface AskedServer {
  /** Undefined if the server does not say. */
  readonly capabilities: () => Promise<Capabilities | undefined>
  readonly list: (method: string) => ListTools
}

async function asking<Result>(
  server: ListedServer,
  log: Log,
  ask: (server: AskedServer) => Promise<Result>,
): Promise<Result> {
  // The started server ends with this process.
  const end = (): never => process.exit(EXIT.failure)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, end)
  let exchange: ServerExchange | undefined
  try {
    exchange = await exchangeWith(server, log)
    const asked = await within(START_MS, opened(exchange), `it did not answer within ${START_MS / 1_000} s`)
    return await ask(asked)
  } catch (error) {
    throw error instanceof CommandError ? error : new UnusableServer(error)
  } finally {
    await exchange?.close()
    for (const signal of signals) process.off(signal, end)
  }
}

async function exchangeWith(server: ListedServer, log: Log): Promise<ServerExchange> {
  if ('command' in server) return StdioExchange.start(server.command, server.args, log)
  return new HttpExchange(server.upstream, server.upstreamHeaders ?? {}, log)
}

/** Connects by a handshake, or without one if the server does not know it. */
async function opened(exchange: ServerExchange): Promise<AskedServer> {
  try {
    const capabilities = await shakeHands(exchange)
    return {
      capabilities: async () => capabilities,
      list: (method) => (cursor) => exchange.request(method, pageAt(cursor)),
    }
  } catch (refusal) {
    if (!(refusal instanceof ServerRefusal)) throw refusal
    const ask = (method: string, params: object = {}) => exchange.request(method, { ...params, _meta: STATELESS_META })
    const discover = async (): Promise<Capabilities | undefined> => {
      const { capabilities } = await ask('server/discover').catch(() => ({ capabilities: undefined }))
      return isObject(capabilities) ? capabilities : undefined
    }
    return {
      capabilities: discover,
      list: (method) => (cursor) =>
        method === 'tools/list' ? ask(method, pageAt(cursor)).catch(told(refusal)) : ask(method, pageAt(cursor)),
    }
  }
}

async function shakeHands(exchange: ServerExchange): Promise<Capabilities> {
  const params = { protocolVersion: HANDSHAKE_REVISION, capabilities: CAPABILITIES, clientInfo: CLIENT }
  const { protocolVersion, capabilities } = await exchange.request('initialize', params)
  exchange.useVersion?.(String(protocolVersion))
  await exchange.notify('notifications/initialized')
  return isObject(capabilities) ? capabilities : {}
}

const STATELESS_META = {
  [PROTOCOL_VERSION]: STATELESS_REVISION,
  [CLIENT_INFO]: CLIENT,
  [CLIENT_CAPABILITIES]: CAPABILITIES,
}

function pageAt(cursor: string | undefined): { cursor?: string } {
  return cursor === undefined ? {} : { cursor }
}

/** Adds the server's refusal of the handshake to the error. */
function told(refusal: ServerRefusal): (error: unknown) => never {
  return (error) => {
    throw error instanceof ServerRefusal ? new Error(`${refusal.message} ${error.message}`) : error
  }
}
