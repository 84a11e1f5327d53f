/** `countersign-mcp init`: writes a starter mapping and policy from what a running server says about itself. */
import { access } from 'node:fs/promises'
import { assertAgentId, configText, type ProxyConfig, parseConfig } from '../config.js'
import { EXIT, type Log } from '../operator.js'
import { acceptedToolsPath, acceptedToolsText, alreadyThere, write } from './files.js'
import { type ListedServer, type OtherOffers, offersOfServer, UnusableServer } from './server-tools.js'
import { printableName, shownToolsIn } from './shown-tools.js'
import { starterOf } from './starter.js'

/** The default name, in the working directory. */
export const POLICY_FILE = 'countersign-mcp-policy.json'

export interface InitOptions {
  readonly server: ListedServer
  /** The agent of the policy. It acts unless clients authenticate. */
  readonly agent: string
  /** The paths of the files to write. */
  readonly config: string
  readonly policy: string
  /** Whether to overwrite existing files. */
  readonly force: boolean
  readonly log: Log
}

/** The limit of the decision point for a body, in bytes. */
const MAX_POLICY_BYTES = 256 * 1024
const MAX_NAMED = 50

/**
 * Resolves with the exit code.
 *
 * @throws ConfigError for an invalid agent, and for a file that already exists or cannot be written; CommandError, UnusableServer
 */
export async function init({ server, agent, config, policy, force, log }: InitOptions): Promise<number> {
  assertAgentId(agent)
  const toolsPath = acceptedToolsPath(config)
  if (!force) for (const path of [config, policy, toolsPath]) await assertAbsent(path)
  const { tools, ...others } = await offersOfServer(server, log)
  const shown = shownToolsIn(tools)
  const starter = starterOf(shown, others, agent)
  const configured = configText(starter.config)
  // A name that the server chose must not make a file that the proxy cannot read.
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
  tellOfOthers(others, starter.config, log)
  log.warn('All of this is only what the server claims. Read and correct the files before you create the policy.')
  return EXIT.ok
}

/**
 * Reports what the server has besides tools. No rule of the policy allows it, because the server does not say what reading it does.
 */
function tellOfOthers(others: OtherOffers, { resources = {}, prompts = {} }: ProxyConfig, log: Log): void {
  const { extensions, completes } = others
  const has = [
    countOf(others.resources, 'resource'),
    countOf(others.resourceTemplates, 'resource template'),
    countOf(others.prompts, 'prompt'),
    completes ? 'completions' : '',
  ].filter((one) => one !== '')
  if (has.length === 0 && extensions.length === 0) return void log.info('The server has nothing besides tools.')
  if (has.length > 0) log.info(`Besides tools the server has ${has.join(', ')}.`)
  const mapped = [...Object.keys(resources), ...Object.keys(prompts), ...(completes ? ['completion/complete'] : [])]
  if (mapped.length > 0)
    log.warn(
      `Mapped, but allowed by no rule of the policy: ${named(mapped)}. Add rules for their actions to allow them.`,
    )
  if (extensions.length > 0)
    log.warn(`Not mapped and so denied: the methods of ${named(extensions)}. Map them in "methods" by their names.`)
}

function countOf(entries: readonly unknown[], word: string): string {
  return entries.length === 0 ? '' : `${entries.length} ${word}${entries.length === 1 ? '' : 's'}`
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
