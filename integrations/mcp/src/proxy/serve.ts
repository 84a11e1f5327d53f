/** Runs the proxy, from its settings to its last settlement. */
import { once } from 'node:events'
import { ApiError, Countersign, UnavailableError } from '@countersign/client'
import { warnOfFault } from '@countersign/client/kernel'
import { printable } from '@countersign/client/text'
import { assertAgentId, ConfigError, gateOptionsOf, type ProxyConfig, readConfig } from './config.js'
import { startHttpProxy } from './http/http-proxy.js'
import type { HttpSettings, UpstreamSettings } from './http/http-settings.js'
import { RemoteServer } from './http/remote-server.js'
import { EXIT, type Log } from './operator.js'
import { ServerProcess } from './stdio/child-process.js'
import { stdioProxy } from './stdio/stdio-proxy.js'

/** The time for the last settlements, in milliseconds. */
const FLUSH_MS = 5_000

export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
}

export interface ServeOptions {
  /** The program to start or the server to connect to, and the address to listen at instead of standard input. */
  readonly server: ServerCommand | HttpSettings | UpstreamSettings
  /** The path of the configuration file. */
  readonly config: string
  /** Override the members of the file. */
  readonly flags: Partial<Pick<ProxyConfig, 'agent_id' | 'list' | 'review' | 'mode'>>
  readonly log: Log
}

/**
 * Resolves with the exit code.
 *
 * @throws ConfigError, CommandError
 */
export async function serve({ server, config: path, flags, log }: ServeOptions): Promise<number> {
  const config = { ...(await readConfig(path)), ...flags }
  const listens = 'listen' in server
  const clients = listens ? config.clients : undefined
  const agentId = config.agent_id ?? (process.env.COUNTERSIGN_AGENT_ID || undefined)
  const [agent] = clients === undefined ? [agentId] : clients.map(({ agent_id }) => agent_id)
  if (agent === undefined)
    throw new ConfigError(path, ['agent_id is missing: set it in the file, by --agent, or in COUNTERSIGN_AGENT_ID'])
  assertAgentId(agent)
  // If clients authenticate, each call names its own agent.
  const client = clientFor(clients === undefined ? agent : undefined)
  const running: Running = { client, config, agent, ending: new AbortController(), log }
  try {
    return await ('listen' in server ? serveHttp(server, running) : serveStdio(server, running))
  } finally {
    running.ending.abort()
    await flush(client, log)
  }
}

interface Running {
  readonly client: Countersign
  readonly config: ProxyConfig
  /** One of the agents that act. */
  readonly agent: string
  /** Aborted to end the proxy. */
  readonly ending: AbortController
  readonly log: Log
}

/** For a client on standard input and output, in front of a program or of a server elsewhere. */
async function serveStdio(given: ServerCommand | UpstreamSettings, running: Running): Promise<number> {
  const { client, config, ending, log } = running
  const server = await started(given, log)
  endOnSignals(ending, () => ('kill' in server ? server.kill() : process.exit(EXIT.failure)))
  const refused = endIfKeyIsRefused(running)
  const { stdin: input, stdout: output } = process
  const gate = gateOptionsOf(config, client)
  const end = await stdioProxy({ server, gate, input, output, log, signal: ending.signal })
  ending.abort()
  const isRefused = await refused
  if ('ended' in server) {
    const { code, signal } = await server.ended
    if (end === 'server') log.error(`The server has ended by itself (${signal ?? `exit code ${code}`}).`)
  }
  if (isRefused) return EXIT.config
  return end === 'server' ? EXIT.failure : EXIT.ok
}

async function started(given: ServerCommand | UpstreamSettings, log: Log): Promise<ServerProcess | RemoteServer> {
  if ('command' in given) return ServerProcess.start(given.command, given.args)
  return new RemoteServer(given.upstream, given.upstreamHeaders ?? {}, log)
}

async function serveHttp(settings: HttpSettings, running: Running): Promise<number> {
  const { client, config, ending, log } = running
  const proxy = await startHttpProxy({ ...settings, config, gate: gateOptionsOf(config, client), log }).catch(
    (error) => {
      throw new ConfigError('The address', [(error as Error).message])
    },
  )
  log.info(`MCP clients connect to ${proxy.url}`)
  endOnSignals(ending, () => process.exit(EXIT.failure))
  const refused = endIfKeyIsRefused(running)
  if (!ending.signal.aborted) await once(ending.signal, 'abort')
  await proxy.close()
  return (await refused) ? EXIT.config : EXIT.ok
}

/** With a refused key no call can be permitted. The proxy then ends, so that the operator notices, unless it only observes. */
async function endIfKeyIsRefused(running: Running): Promise<boolean> {
  const isRefused = (await isKeyRefused(running)) && running.config.mode !== 'observe'
  if (isRefused) running.ending.abort()
  return isRefused
}

function clientFor(agentId: string | undefined): Countersign {
  // Otherwise all clients would share this agent.
  if (agentId === undefined) delete process.env.COUNTERSIGN_AGENT_ID
  try {
    return new Countersign({ agentId })
  } catch (error) {
    throw new ConfigError('The environment', [(error as Error).message])
  }
}

/** The first signal ends the proxy with care, the second one immediately. */
function endOnSignals(ending: AbortController, endAtOnce: () => void): void {
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (ending.signal.aborted) endAtOnce()
      ending.abort()
    })
  }
}

/** Whether no call can be permitted. Warns the operator of this, and of a decision point that does not answer. */
async function isKeyRefused({ client, config, agent, ending: { signal }, log }: Running): Promise<boolean> {
  try {
    // This needs the same key, scope and agent as a decision, and is not recorded.
    await client.capabilities({ agent_id: agent, actions: ['mcp'] }, { signal })
    return false
  } catch (error) {
    if (signal.aborted) return false
    if (ApiError.isInstance(error) && (error.status === 401 || error.status === 403)) {
      const exits = config.mode === 'observe' ? '' : ', so the proxy exits'
      log.error(
        `The decision point refuses the API key for ${agent}${exits} (${printable(error.message, 500)}). Set COUNTERSIGN_API_KEY to a key that is neither revoked nor expired, has the scope decisions:write and may ask for this agent.`,
      )
      return true
    }
    warnOfFault(error)
    if (UnavailableError.isInstance(error) && error.kind === 'timeout')
      log.warn(`The decision point does not answer, so no call is permitted (${error.message}).`)
    return false
  }
}

async function flush(client: Countersign, log: Log): Promise<void> {
  const open = await client.flush({ timeoutMs: FLUSH_MS })
  if (open === 0) return
  log.warn(`The outcome of ${open} calls could not be reported. They count as spent when their decisions expire.`)
  client.close()
}
