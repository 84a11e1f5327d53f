/** The proxy while it runs: from its settings to its last settlement. */
import { ApiError, Countersign, UnavailableError } from '@countersign/client'
import { warnOfFault } from '@countersign/client/kernel'
import { ServerProcess } from './child-process.js'
import { ConfigError, gateOptionsOf, type ProxyConfig, readConfig } from './config.js'
import { EXIT } from './exit.js'
import type { Log } from './log.js'
import { stdioProxy } from './stdio-proxy.js'

/** How long what became of calls may take to be told at the end. */
const FLUSH_MS = 5_000

export interface ServeOptions {
  readonly command: string
  readonly args: readonly string[]
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
export async function serve({ command, args, config: path, flags, log }: ServeOptions): Promise<number> {
  const config = { ...(await readConfig(path)), ...flags }
  const agentId = config.agent_id ?? (process.env.COUNTERSIGN_AGENT_ID || undefined)
  if (agentId === undefined)
    throw new ConfigError(path, ['agent_id is missing: name the agent there, by --agent, or by COUNTERSIGN_AGENT_ID'])
  const client = clientFor(agentId)
  const ending = new AbortController()
  try {
    const server = await ServerProcess.start(command, args)
    endOnSignals(ending, server)
    const refused = isKeyRefused(client, ending.signal, log).then((isRefused) => {
      if (isRefused && config.mode !== 'observe') ending.abort()
      return isRefused && config.mode !== 'observe'
    })
    const { stdin: input, stdout: output } = process
    const gate = gateOptionsOf(config, client)
    const end = await stdioProxy({ server, gate, input, output, log, signal: ending.signal })
    ending.abort()
    const isRefused = await refused
    const { code, signal } = await server.ended
    if (end === 'server') log.error(`The server has ended by itself (${signal ?? `exit code ${code}`}).`)
    if (isRefused) return EXIT.config
    return end === 'server' ? EXIT.failure : EXIT.ok
  } finally {
    ending.abort()
    await flush(client, log)
  }
}

function clientFor(agentId: string): Countersign {
  try {
    return new Countersign({ agentId })
  } catch (error) {
    throw new ConfigError('The environment', [(error as Error).message])
  }
}

/** The first one ends the proxy with care, the next one at once. */
function endOnSignals(ending: AbortController, server: ServerProcess): void {
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (ending.signal.aborted) server.kill()
      ending.abort()
    })
  }
}

/** Whether no call could ever be permitted. The operator is warned of that, and of a decision point that does not answer. */
async function isKeyRefused(client: Countersign, signal: AbortSignal, log: Log): Promise<boolean> {
  try {
    // It needs the same key, scope and agent as a decision, and leaves no trace.
    await client.capabilities({ actions: ['mcp'] }, { signal })
    return false
  } catch (error) {
    if (signal.aborted) return false
    warnOfFault(error)
    if (UnavailableError.isInstance(error) && error.kind === 'timeout')
      log.warn(`The decision point does not answer, so nothing is permitted (${error.message}).`)
    return ApiError.isInstance(error) && (error.status === 401 || error.status === 403)
  }
}

async function flush(client: Countersign, log: Log): Promise<void> {
  const open = await client.flush({ timeoutMs: FLUSH_MS })
  if (open > 0)
    log.warn(`What became of ${open} calls could not be told: they count as spent once their decisions expire.`)
  client.close()
}
