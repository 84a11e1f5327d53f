/** `countersign-mcp init`: writes a starter mapping and policy from what a running server says about its tools. */
import { access } from 'node:fs/promises'
import { acceptedToolsPath, acceptedToolsText } from './accepted-tools.js'
import { assertAgentId, configText, parseConfig } from './config.js'
import { EXIT } from './exit.js'
import type { Log } from './log.js'
import { type ListedServer, toolsOfServer, UnusableServer } from './server-tools.js'
import { printableName, shownToolsIn } from './shown-tools.js'
import { starterOf } from './starter.js'
import { alreadyThere, write } from './write-file.js'

/** In the working directory, unless another one is named. */
export const POLICY_FILE = 'countersign-mcp-policy.json'

export interface InitOptions {
  readonly server: ListedServer
  /** The agent of the policy. It acts unless clients authenticate. */
  readonly agent: string
  /** The paths of the files that are written. */
  readonly config: string
  readonly policy: string
  /** Writes over files that are there. */
  readonly force: boolean
  readonly log: Log
}

/** Of a body that is sent to the decision point, in bytes. */
const MAX_POLICY_BYTES = 256 * 1024
const MAX_NAMED = 50

/**
 * Resolves with the exit code.
 *
 * @throws ConfigError for an agent that cannot act, and a file that is there already, or cannot be written; CommandError, UnusableServer
 */
export async function init({ server, agent, config, policy, force, log }: InitOptions): Promise<number> {
  assertAgentId(agent)
  const toolsPath = acceptedToolsPath(config)
  if (!force) for (const path of [config, policy, toolsPath]) await assertAbsent(path)
  const shown = shownToolsIn(await toolsOfServer(server, log))
  const starter = starterOf(shown, agent)
  const configured = configText(starter.config)
  // What a server can be called must not make a file that the proxy cannot read.
  parseConfig(configured, config)
  const policyText = starter.policy === null ? null : `${JSON.stringify(starter.policy, null, 2)}\n`
  if (policyText !== null && Buffer.byteLength(policyText) > MAX_POLICY_BYTES)
    throw new UnusableServer(new Error(`there are ${shown.sound.size}, too many for one policy`))
  const how = { overwrites: force }
  await write(config, configured, how)
  await write(toolsPath, acceptedToolsText([...shown.sound.values()].map(({ tool }) => tool)), how)
  if (policyText !== null) await write(policy, policyText, how)

  const { allowed, reviewed, unmapped } = starter
  log.info(`${config}: ${allowed.length + reviewed.length} of ${shown.sound.size} tools are mapped and pinned.`)
  log.info(`${toolsPath}: the full definitions of the tools, for you to read and for check to compare.`)
  if (policyText !== null)
    log.info(`${policy}: allows ${amountOf(allowed)} and requires a review for ${amountOf(reviewed)}, for ${agent}.`)
  if (policyText !== null && allowed.length > 0)
    log.info(`Allowed, because the server calls them read-only: ${named(allowed)}.`)
  if (unmapped.length > 0)
    log.warn(
      `Not mapped and so denied, because the server calls them neither read-only nor destructive: ${named(unmapped)}.`,
    )
  for (const [name, reason] of [...shown.unsound].slice(0, MAX_NAMED))
    log.warn(`Not mapped and so denied: ${printableName(name)}, because ${reason}.`)
  log.warn('All of this is only what the server claims. Read and correct the files before you create the policy.')
  return EXIT.ok
}

async function assertAbsent(path: string): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  if (isThere) throw alreadyThere(path)
}

function amountOf(names: readonly string[]): string {
  return names.length === 1 ? '1 tool' : `${names.length} tools`
}

function named(names: readonly string[]): string {
  const rest = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  return `${names.slice(0, MAX_NAMED).map(printableName).join(', ')}${rest}`
}
