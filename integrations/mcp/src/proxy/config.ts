/** The configuration file of the proxy: maps tools to actions, and sets the options of the gate. Source: docs/mcp.md. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CountersignClient } from '@countersign/client'
import { assertNoMissingPart } from '@countersign/client/kernel'
import { z } from 'zod'
import type { GateOptions } from '../gate-options.js'
import { toolMapping } from './json-mapping.js'
import { repeatedMembers } from './repeated-members.js'

/** In the working directory, unless another one is named. */
export const CONFIG_FILE = 'countersign-mcp.json'

const PrintableText = z
  .string()
  .regex(/^[^\p{Cc}]+$/u, { error: 'has to be non-empty text without control characters' })
const AgentId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,255}$/, {
    error: 'has to start with a letter or digit, and hold only letters, digits and . _ : @ / + -',
  })
  // Every call would be refused by it.
  .refine(isWhole, { error: 'looks like a value that was missing, such as undefined or null' })

const RESOURCE_FORM = 'has to be <type>:<id>, such as file:{path}, or null for none'

const Tool = z
  .strictObject({
    action: z.string().regex(/^([A-Za-z0-9_-]|\{[^{}]+\})+(\.([A-Za-z0-9_-]|\{[^{}]+\})+)*$/, {
      error: 'has to be words of letters, digits, _ and -, separated by dots, such as file.read',
    }),
    resource: z
      .string({ error: ({ input }) => `${input === undefined ? 'is required. It ' : ''}${RESOURCE_FORM}` })
      .regex(/^[A-Za-z0-9_.-]+:./, { error: RESOURCE_FORM })
      .nullable(),
    context: z.union([z.literal('arguments'), z.array(PrintableText)], {
      error: 'has to be a list of argument names, or "arguments"',
    }),
    definition: z.string().regex(/^sha256-[0-9a-f]{64}$/, { error: 'has to be sha256-…, as `init` writes it' }),
  })
  .partial({ context: true, definition: true })
  .superRefine((tool, context) => {
    try {
      toolMapping(tool)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
    }
  })

const HASH_OF_EMPTY_TOKEN = createHash('sha256').digest('hex')

const Client = z.strictObject({
  agent_id: AgentId,
  token_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'has to be the 64 hexadecimal digits of a SHA-256, in lower case' })
    .refine((hash) => hash !== HASH_OF_EMPTY_TOKEN, { error: 'is the hash of an empty token: hash the token itself' }),
})

const Clients = z
  .array(Client)
  .min(1)
  .superRefine((clients, context) => {
    const hashes = clients.map(({ token_sha256 }) => token_sha256)
    for (const [index, hash] of hashes.entries()) {
      const first = hashes.indexOf(hash)
      if (first === index) continue
      const message = `is that of clients[${first}] too: each client needs a token of its own`
      context.addIssue({ code: 'custom', path: [index, 'token_sha256'], message })
    }
  })

const ProxyConfig = z
  .strictObject({
    agent_id: AgentId,
    unmapped: z.enum(['deny', 'map']),
    list: z.enum(['all', 'hide']),
    review: z.enum(['pending', 'wait']),
    mode: z.enum(['enforce', 'observe']),
    tools: z.record(z.string(), Tool),
    clients: Clients,
  })
  .partial({ agent_id: true, unmapped: true, list: true, review: true, mode: true, clients: true })

/** As the file holds it. */
export type ProxyConfig = z.infer<typeof ProxyConfig>

/** A file that cannot be used; `problems` names every place. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'

  constructor(
    path: string,
    readonly problems: readonly string[],
  ) {
    super(`${path} cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

/** @throws ConfigError, also for a file that is not there or cannot be read */
export async function readConfig(path: string): Promise<ProxyConfig> {
  const file = resolve(path)
  try {
    return parseConfig(await readFile(file, 'utf8'), file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    const hint = 'set --config, or create it: countersign-mcp init --agent <id> -- <command>'
    throw new ConfigError(file, [
      code === 'ENOENT' ? `the file does not exist: ${hint}` : `the file cannot be read (${code})`,
    ])
  }
}

/**
 * @param path for messages
 * @throws ConfigError
 */
export function parseConfig(text: string, path: string): ProxyConfig {
  const { error, data } = ProxyConfig.safeParse(valueIn(text, path))
  const repeated = repeatedMembers(text).map((member) => `${placeOf(member)}is given twice`)
  if (error === undefined && repeated.length === 0) return data
  const faults = error?.issues.map((issue) => `${placeOf(issue.path)}${issue.message}`) ?? []
  throw new ConfigError(path, [...repeated, ...faults])
}

/**
 * Of an agent that is not in a file.
 *
 * @throws ConfigError
 */
export function assertAgentId(agent: string): void {
  const { error } = AgentId.safeParse(agent)
  if (error !== undefined)
    throw new ConfigError(
      `The agent ${JSON.stringify(agent)}`,
      error.issues.map(({ message }) => message),
    )
}

/** As `init` writes it. */
export function configText(config: ProxyConfig): string {
  return `${JSON.stringify(config, null, 2)}\n`
}

/** The gate options of a file. The agent comes from the client. */
export function gateOptionsOf(config: ProxyConfig, client: CountersignClient): GateOptions {
  const { unmapped, list, review, mode } = config
  const tools = Object.entries(config.tools)
  const map = Object.fromEntries(tools.map(([name, tool]) => [name, toolMapping(tool)]))
  const definitions = Object.fromEntries(
    tools.flatMap(([name, { definition }]) => (definition === undefined ? [] : [[name, definition]])),
  )
  return { client, map, definitions, unmapped, list, review, mode }
}

function isWhole(agent_id: string): boolean {
  try {
    assertNoMissingPart({ agent_id })
    return true
  } catch {
    return false
  }
}

/** Editors on Windows begin a file with a byte order mark. @throws SyntaxError */
export function jsonIn(text: string): unknown {
  return JSON.parse(text.replace(/^\uFEFF/, ''))
}

function valueIn(text: string, path: string): unknown {
  try {
    return jsonIn(text)
  } catch (error) {
    throw new ConfigError(path, [`the file is not valid JSON: ${(error as Error).message}`])
  }
}

/** `tools["read_file"].resource: `, and nothing for the whole file. */
function placeOf(path: readonly PropertyKey[]): string {
  const steps = path.map((step, index) => {
    if (typeof step === 'number' || !/^\w+$/.test(String(step)) || path[index - 1] === 'tools')
      return `[${JSON.stringify(step)}]`
    return index === 0 ? String(step) : `.${String(step)}`
  })
  return steps.length === 0 ? '' : `${steps.join('')}: `
}
