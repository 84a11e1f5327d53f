/** Connects to a server as an ordinary client, and lists its tools. */
import { createRequire } from 'node:module'
import { printable } from '@countersign/client/kernel'
import { within } from '../deadline.js'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  HANDSHAKE_REVISION,
  PROTOCOL_VERSION,
  STATELESS_REVISION,
} from '../protocol.js'
import { allTools, type ListTools } from '../tool-pages.js'
import { CommandError } from './child-process.js'
import { EXIT } from './exit.js'
import { HttpExchange } from './http-exchange.js'
import type { UpstreamSettings } from './http-settings.js'
import type { Log } from './log.js'
import type { ServerCommand } from './serve.js'
import { type ServerExchange, ServerRefusal } from './server-exchange.js'
import { StdioExchange } from './stdio-exchange.js'

/** A server that has to be fetched first takes its time. */
const START_MS = 120_000
/** Some servers show tools to those alone who could be asked back. */
const CAPABILITIES = { roots: { listChanged: true }, sampling: {}, elicitation: {} }

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }
const CLIENT = { name: 'countersign-mcp', version }

/** What is started to be asked, or is running somewhere. */
export type ListedServer = ServerCommand | UpstreamSettings

/** A server whose tools cannot be listed. The message is safe to print. */
export class UnusableServer extends Error {
  override readonly name = 'UnusableServer'

  constructor(cause: unknown) {
    const { message, code } = cause as NodeJS.ErrnoException
    super(`The tools of the server cannot be listed: ${printable(message || String(code))}`, { cause })
  }
}

/**
 * All tools that a server shows, unchecked. It is started for that and ended, or asked over HTTP.
 *
 * @throws CommandError, and UnusableServer for one that does not answer, refuses to, or has a list without an end
 */
export async function toolsOfServer(server: ListedServer, log: Log): Promise<readonly unknown[]> {
  // What was started ends with the process.
  const end = (): never => process.exit(EXIT.failure)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, end)
  let exchange: ServerExchange | undefined
  try {
    exchange = await exchangeWith(server, log)
    const list = await within(START_MS, listOf(exchange), `it did not answer within ${START_MS / 1_000} s`)
    return await allTools(list)
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

/** How the server is asked for its list: after the handshake, or without one where it knows of none. */
async function listOf(exchange: ServerExchange): Promise<ListTools> {
  try {
    await shakeHands(exchange)
  } catch (refusal) {
    if (!(refusal instanceof ServerRefusal)) throw refusal
    return (cursor) => exchange.request('tools/list', { ...pageAt(cursor), _meta: STATELESS_META }).catch(told(refusal))
  }
  return (cursor) => exchange.request('tools/list', pageAt(cursor))
}

async function shakeHands(exchange: ServerExchange): Promise<void> {
  const params = { protocolVersion: HANDSHAKE_REVISION, capabilities: CAPABILITIES, clientInfo: CLIENT }
  const { protocolVersion } = await exchange.request('initialize', params)
  exchange.useVersion(String(protocolVersion))
  await exchange.notify('notifications/initialized')
}

const STATELESS_META = {
  [PROTOCOL_VERSION]: STATELESS_REVISION,
  [CLIENT_INFO]: CLIENT,
  [CLIENT_CAPABILITIES]: CAPABILITIES,
}

function pageAt(cursor: string | undefined): { cursor?: string } {
  return cursor === undefined ? {} : { cursor }
}

/** With what the server has said of the handshake. */
function told(refusal: ServerRefusal): (error: unknown) => never {
  return (error) => {
    throw error instanceof ServerRefusal ? new Error(`${refusal.message} ${error.message}`) : error
  }
}
