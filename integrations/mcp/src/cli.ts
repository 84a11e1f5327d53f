#!/usr/bin/env node
/** `countersign-mcp`: standard output belongs to the protocol, and everything else is said on standard error. */
import { readFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import { CommandError, endsWithin } from './proxy/child-process.js'
import { CONFIG_FILE, ConfigError, type ProxyConfig } from './proxy/config.js'
import { EXIT } from './proxy/exit.js'
import { standardErrorLog } from './proxy/log.js'
import { serve } from './proxy/serve.js'

interface ServeFlags extends Partial<Pick<ProxyConfig, 'list' | 'review' | 'mode'>> {
  readonly agent?: string
  readonly config: string
}

/** How long what was written last may wait to be read. */
const LAST_WORDS_MS = 1_000

const log = standardErrorLog()
process.removeAllListeners('warning')
process.on('warning', ({ message }) => log.warn(message))

// What comes after the dashes is the server's own, even where it is spelt like one of our commands or options.
const dashes = process.argv.indexOf('--')
const own = dashes === -1 ? process.argv : process.argv.slice(0, dashes)
const [command, ...args] = dashes === -1 ? [] : process.argv.slice(dashes + 1)

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const program = new Command('countersign-mcp')
  .description('Stands in front of an MCP server, and lets its tools run only on a decision that permits it.')
  .usage('[options] -- command [arguments]')
  .version(version)
  .showHelpAfterError()
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage))
  .option('--agent <id>', 'who acts; default: agent_id of the configuration, or COUNTERSIGN_AGENT_ID')
  .option('--config <file>', 'which tool is which action', CONFIG_FILE)
  .addOption(new Option('--list <which>', 'the tools that are shown').choices(['all', 'hide']))
  .addOption(new Option('--review <how>', 'what becomes of a call that awaits a review').choices(['pending', 'wait']))
  .addOption(new Option('--mode <mode>', 'whether refusals are enforced').choices(['enforce', 'observe']))
  .addHelpText(
    'after',
    '\nCOUNTERSIGN_URL and COUNTERSIGN_API_KEY say where to ask, and with which key. The server gets neither.',
  )
  .action(async ({ agent, config, ...rest }: ServeFlags) => {
    if (command === undefined)
      return program.error('error: no server: write its command after --, such as -- npx -y some-mcp-server')
    const flags = { ...rest, ...(agent !== undefined && { agent_id: agent }) }
    await end(serve({ command, args, config, flags, log }))
  })

await program.parseAsync(own)

/** Ends the process, once what it has written is read. */
async function end(running: Promise<number>): Promise<void> {
  const code = await running.catch(codeOf)
  const written = new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
  await endsWithin(written, LAST_WORDS_MS)
  process.exit(code)
}

function codeOf(error: unknown): number {
  const { message, stack } = error as Error
  if (error instanceof ConfigError) log.error(message)
  else if (error instanceof CommandError) log.error(message)
  else log.error(stack ?? message)
  return error instanceof ConfigError ? EXIT.config : error instanceof CommandError ? error.exitCode : EXIT.failure
}
