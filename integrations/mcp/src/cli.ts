/** `countersign-mcp`. Standard output is for the protocol only; everything else goes to standard error. */
import { readFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import { CONFIG_FILE, ConfigError, type ProxyConfig } from './proxy/config.js'
import {
  type HttpFlags,
  type HttpSettings,
  httpSettings,
  type UpstreamFlags,
  type UpstreamSettings,
  upstreamSettings,
} from './proxy/http/http-settings.js'
import { EXIT, standardErrorLog } from './proxy/operator.js'
import { type ServerCommand, serve } from './proxy/serve.js'
import { check } from './proxy/setup/check.js'
import { init, POLICY_FILE } from './proxy/setup/init.js'
import { type ListedServer, UnusableServer } from './proxy/setup/server-tools.js'
import { CommandError } from './proxy/stdio/child-process.js'

interface ServeFlags extends Partial<Pick<ProxyConfig, 'list' | 'review' | 'mode'>>, HttpFlags {
  readonly agent?: string
  readonly config: string
}

interface InitFlags extends UpstreamFlags {
  readonly agent?: string
  readonly config: string
  readonly policy: string
  readonly force: boolean
}

interface CheckFlags extends UpstreamFlags {
  readonly config: string
  readonly accept: boolean | readonly string[]
}

/** The time for the last output and settlements, in milliseconds. */
const LAST_WORDS_MS = 5_000

const UPSTREAM = new Option('--upstream <url>', 'the URL of a Streamable HTTP server, instead of a command')
const UPSTREAM_HEADER = new Option(
  '--upstream-header-env <name=variable...>',
  'a header for the server, with the value of this environment variable',
)

const log = standardErrorLog()
process.removeAllListeners('warning')
process.on('warning', ({ message }) => log.warn(message))

// Arguments after the dashes belong to the server, even if they look like our commands or options.
const dashes = process.argv.indexOf('--')
const own = dashes === -1 ? process.argv : process.argv.slice(0, dashes)
const [command, ...args] = dashes === -1 ? [] : process.argv.slice(dashes + 1)

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const program = new Command('countersign-mcp')
  .description('A proxy for an MCP server: a tool runs only if a Countersign decision permits the call.')
  .usage('[options] -- command [arguments]\n       countersign-mcp [options] --upstream url [--listen address]')
  .version(version)
  .showHelpAfterError()
  .enablePositionalOptions()
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage))
  .option('--agent <id>', 'the agent; default: agent_id of the configuration, or COUNTERSIGN_AGENT_ID')
  .option('--config <file>', 'the configuration file, which maps tools to actions', CONFIG_FILE)
  .addOption(new Option('--list <which>', 'show all tools, or hide tools that may never run').choices(['all', 'hide']))
  .addOption(
    new Option('--review <how>', 'refuse a call that needs a review for now, or hold it open').choices([
      'pending',
      'wait',
    ]),
  )
  .addOption(new Option('--mode <mode>', 'enforce decisions, or only record them').choices(['enforce', 'observe']))
  .option(
    '--listen <address>',
    'serve Streamable HTTP at this address, such as 127.0.0.1:4000; default: standard input and output',
  )
  .option('--upstream <url>', 'the URL of a Streamable HTTP server; default: COUNTERSIGN_MCP_UPSTREAM')
  .addOption(UPSTREAM_HEADER)
  .option('--forward-authorization', "forward the clients' own Authorization header to the server")
  .addHelpText(
    'after',
    '\nSet COUNTERSIGN_URL and COUNTERSIGN_API_KEY: the decision point, and an API key for it. The server receives neither.',
  )
  .action(async ({ agent, config, list, review, mode, ...http }: ServeFlags) => {
    const flags = {
      ...(agent !== undefined && { agent_id: agent }),
      ...(list !== undefined && { list }),
      ...(review !== undefined && { review }),
      ...(mode !== undefined && { mode }),
    }
    await end(serve({ server: serverOf(http), config, flags, log }))
  })

program
  .command('init')
  .description('Writes a starter configuration and policy from what the server says about its tools.')
  .usage('--agent <id> [options] -- command [arguments]')
  .option(
    '--agent <id>',
    'the agent that the policy is for; default: COUNTERSIGN_AGENT_ID',
    process.env.COUNTERSIGN_AGENT_ID,
  )
  .option('--config <file>', 'the configuration file to write', CONFIG_FILE)
  .option('--policy <file>', 'the policy file to write', POLICY_FILE)
  .addOption(UPSTREAM)
  .addOption(UPSTREAM_HEADER)
  .option('--force', 'overwrite existing files', false)
  .action(async ({ agent, config, policy, force, ...http }: InitFlags) => {
    if (!agent) return program.error('error: the agent of the policy is missing: set --agent')
    await end(init({ server: listedServerOf(http), agent, config, policy, force, log }))
  })
program
  .command('check')
  .description('Reports how the tools of the server differ from the accepted ones.')
  .usage('[options] -- command [arguments]')
  .option('--config <file>', 'the configuration file to compare with', CONFIG_FILE)
  .option('--accept [tools...]', 'pin these tools as they are now; without names, all tools', false)
  .addOption(UPSTREAM)
  .addOption(UPSTREAM_HEADER)
  .action(async ({ config, accept, ...http }: CheckFlags) => {
    const print = (line: string): void => void process.stdout.write(`${line}\n`)
    await end(check({ server: listedServerOf(http), config, accept, log, print }))
  })

await program.parseAsync(own)

function serverOf(http: HttpFlags): ServerCommand | HttpSettings | UpstreamSettings {
  if (command === undefined && Object.keys(http).length === 0 && !process.env.COUNTERSIGN_MCP_UPSTREAM)
    return program.error(
      'error: the server is missing: write its command after --, such as -- npx -y some-mcp-server, or set --upstream',
    )
  return commandOr(http, () => httpSettings(http))
}

/** For `init` and `check`, which connect to the server themselves. */
function listedServerOf(http: UpstreamFlags): ListedServer {
  return commandOr(http, () => upstreamSettings(http))
}

function commandOr<Settings>(http: HttpFlags, read: () => Settings): ServerCommand | Settings {
  if (command !== undefined && Object.keys(http).length > 0)
    return program.error('error: choose one server: a command after --, or --upstream')
  if (command !== undefined) return { command, args }
  try {
    return read()
  } catch (error) {
    return program.error(`error: ${(error as Error).message}`)
  }
}

/** After this, only unfinished work keeps the process alive: the last output, and rejections of late decisions. */
async function end(running: Promise<number>): Promise<void> {
  process.exitCode = await running.catch(codeOf)
  process.stdin.destroy()
  setTimeout(() => process.exit(), LAST_WORDS_MS).unref()
}

function codeOf(error: unknown): number {
  const { message, stack } = error as Error
  const isExpected = [ConfigError, CommandError, UnusableServer].some((kind) => error instanceof kind)
  if (isExpected) log.error(message)
  else log.error(stack ?? message)
  return error instanceof ConfigError ? EXIT.config : error instanceof CommandError ? error.exitCode : EXIT.failure
}
