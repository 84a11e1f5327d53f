/** The proxy while it runs: from its settings to its last settlement. */
import { once } from 'node:events'
import { ApiError, Countersign, UnavailableError } from '@countersign/client'
import { printable, warnOfFault } from '@countersign/client/kernel'
import { ServerProcess } from './child-process.js'
import { assertAgentId, ConfigError, gateOptionsOf, type ProxyConfig, readConfig } from './config.js'
import { EXIT } from './exit.js'
import { startHttpProxy } from './http-proxy.js'
import type { HttpSettings, UpstreamSettings } from './http-settings.js'
import type { Log } from './log.js'
import { RemoteServer } from './remote-server.js'
import { stdioProxy } from './stdio-proxy.js'

/** How long the last settlements may take, in milliseconds. */
const FLUSH_MS = 5_000

export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
}

export interface ServeOptions {
  /** The program to start, or what to stand in front of, and where to listen in place of standard input. */
  readonly server: ServerCommand | HttpSettings | UpstreamSettings
  /** The path of the configuration file. */
  readonly config: string
  /** Counts before what the file says. */
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
  // Where clients say who they are, each call names its agent.
  const client = clientFor(clients === undefined ? agent : undefined)
  const running: Running = { client, config, agent, ending: new AbortController(), log }
  try {
    if ('listen' in server) return await serveHttp(server, running)
    return 'upstream' in server ? await serveRemote(server, running) : await serveStdio(server, running)
  } finally {
    running.ending.abort()
    await flush(client, log)
  }
}

interface Running {
  readonly client: Countersign
  readonly config: ProxyConfig
  /** One of those that act. */
  readonly agent: string
  /** Aborted when the proxy is to end. */
  readonly ending: AbortController
  readonly log: Log
}

async function serveStdio({ command, args }: ServerCommand, running: Running): Promise<number> {
  const { client, config, ending, log } = running
  const server = await ServerProcess.start(command, args)
  endOnSignals(ending, () => server.kill())
  const refused = endIfKeyIsRefused(running)
  const { stdin: input, stdout: output } = process
  const gate = gateOptionsOf(config, client)
  const end = await stdioProxy({ server, gate, input, output, log, signal: ending.signal })
  ending.abort()
  const isRefused = await refused
  const { code, signal } = await server.ended
  if (end === 'server') log.error(`The server has ended by itself (${signal ?? `exit code ${code}`}).`)
  if (isRefused) return EXIT.config
  return end === 'server' ? EXIT.failure : EXIT.ok
}

/** For a client that starts what it talks to, in front of a server that is elsewhere. */
async function serveRemote({ upstream, upstreamHeaders = {} }: UpstreamSettings, running: Running): Promise<number> {
  const { client, config, ending, log } = running
  const server = new RemoteServer(upstream, upstreamHeaders, log)
  endOnSignals(ending, () => process.exit(EXIT.failure))
  const refused = endIfKeyIsRefused(running)
  const { stdin: input, stdout: output } = process
  const gate = gateOptionsOf(config, client)
  const end = await stdioProxy({ server, gate, input, output, log, signal: ending.signal })
  ending.abort()
  if (await refused) return EXIT.config
  return end === 'server' ? EXIT.failure : EXIT.ok
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

/** With a refused key no call could be permitted. The proxy then ends, so the operator notices, unless it only observes. */
async function endIfKeyIsRefused(running: Running): Promise<boolean> {
  const isRefused = (await isKeyRefused(running)) && running.config.mode !== 'observe'
  if (isRefused) running.ending.abort()
  return isRefused
}

function clientFor(agentId: string | undefined): Countersign {
  // It would be the only agent there is.
  if (agentId === undefined) delete process.env.COUNTERSIGN_AGENT_ID
  try {
    return new Countersign({ agentId })
  } catch (error) {
    throw new ConfigError('The environment', [(error as Error).message])
  }
}

/** The first one ends the proxy with care, the next one at once. */
function endOnSignals(ending: AbortController, endAtOnce: () => void): void {
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (ending.signal.aborted) endAtOnce()
      ending.abort()
    })
  }
}

/** Whether no call could ever be permitted. The operator is warned of that, and of a decision point that does not answer. */
async function isKeyRefused({ client, config, agent, ending: { signal }, log }: Running): Promise<boolean> {
  try {
    // It needs the same key, scope and agent as a decision, and leaves no trace.
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
