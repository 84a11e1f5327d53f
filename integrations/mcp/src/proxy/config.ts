/** The configuration file of the proxy: maps tools to actions, and sets the options of the gate. Source: docs/mcp.md. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CountersignClient } from '@countersign/client'
import { assertNoMissingPart } from '@countersign/client/kernel'
import { z } from 'zod'
import type { ToolMapping } from '../calls/call.js'
import type { GateOptions } from '../gate-options.js'
import { MethodRules } from '../rules/method-rules.js'
import { type MappedTool, toolMapping } from './json-mapping.js'
import { repeatedMembers } from './repeated-members.js'

/** The default name, in the working directory. */
export const CONFIG_FILE = 'countersign-mcp.json'

const PrintableText = z.string().regex(/^[^\p{Cc}]+$/u, { error: 'must be non-empty text without control characters' })
const AgentId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,255}$/, {
    error: 'must start with a letter or digit, and hold only letters, digits and . _ : @ / + -',
  })
  // The decision point would refuse every call.
  .refine(isWhole, { error: 'looks like a value that was missing, such as undefined or null' })

const RESOURCE_FORM = 'must be <type>:<id>, such as file:{path}, or null for none'

const Action = z.string().regex(/^([A-Za-z0-9_-]|\{[^{}]+\})+(\.([A-Za-z0-9_-]|\{[^{}]+\})+)*$/, {
  error: 'must be words of letters, digits, _ and -, separated by dots, such as file.read',
})
const ResourceTemplate = z
  .string({ error: ({ input }) => `${input === undefined ? 'is required. It ' : ''}${RESOURCE_FORM}` })
  .regex(/^[A-Za-z0-9_.-]+:./, { error: RESOURCE_FORM })
  .nullable()
const ContextNames = z.union([z.literal('arguments'), z.array(PrintableText)], {
  error: 'must be a list of argument names, or "arguments"',
})

function assertMaps(tool: MappedTool, context: z.RefinementCtx): void {
  try {
    toolMapping(tool)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
  }
}

const Tool = z
  .strictObject({
    action: Action,
    resource: ResourceTemplate,
    context: ContextNames,
    definition: z.string().regex(/^sha256-[0-9a-f]{64}$/, { error: 'must be sha256-…, as `init` writes it' }),
  })
  .partial({ context: true, definition: true })
  .superRefine(assertMaps)

/** A resource, a prompt or a method. By default its own name is the resource, and its arguments are the context. */
const Other = z
  .strictObject({ action: Action, resource: ResourceTemplate, context: ContextNames })
  .partial({ resource: true, context: true })
  .superRefine(assertMaps)
const Others = z.record(z.string(), Other)

const HASH_OF_EMPTY_TOKEN = createHash('sha256').digest('hex')

const Client = z.strictObject({
  agent_id: AgentId,
  token_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'must be the 64 hexadecimal digits of a SHA-256, in lower case' })
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
      const message = `is that of clients[${first}] too: each client needs its own token`
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
    resources: Others,
    prompts: Others,
    methods: Others,
    others: z.enum(['deny', 'map', 'pass']),
    pass: z.array(PrintableText),
    clients: Clients,
  })
  .partial({ agent_id: true, unmapped: true, list: true, review: true, mode: true, clients: true })
  .partial({ resources: true, prompts: true, methods: true, others: true, pass: true })
  .superRefine(({ methods, others, pass }, context) => {
    try {
      new MethodRules({ methods: methods && mappingsOf(methods), others, pass })
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
    }
  })

export type ProxyConfig = z.infer<typeof ProxyConfig>

/** The error for a file that cannot be used. `problems` lists every fault with its place. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'

  constructor(
    path: string,
    readonly problems: readonly string[],
  ) {
    super(`${path} cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
  }
}

/** @throws ConfigError, also if the file does not exist or cannot be read */
export async function readConfig(path: string): Promise<ProxyConfig> {
  const file = resolve(path)
  const text = await textIn(file)
  if (text !== undefined) return parseConfig(text, file)
  throw new ConfigError(file, [
    'the file does not exist: set --config, or create it: countersign-mcp init --agent <id> -- <command>',
  ])
}

/** Undefined if the file does not exist. @throws ConfigError if it cannot be read */
export async function textIn(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new ConfigError(path, [`the file cannot be read (${code})`])
  }
}

/**
 * @param path for messages
 * @throws ConfigError
 */
export function parseConfig(text: string, path: string): ProxyConfig {
  const { error, data } = ProxyConfig.safeParse(jsonIn(text, path))
  const repeated = repeatedMembers(text).map((member) => `${placeOf(member)}is given twice`)
  if (error === undefined && repeated.length === 0) return data
  const faults = error?.issues.map((issue) => `${placeOf(issue.path)}${issue.message}`) ?? []
  throw new ConfigError(path, [...repeated, ...faults])
}

/** Checks an agent id that is not in a file. @throws ConfigError */
export function assertAgentId(agent: string): void {
  const { error } = AgentId.safeParse(agent)
  if (error !== undefined)
    throw new ConfigError(
      `The agent ${JSON.stringify(agent)}`,
      error.issues.map(({ message }) => message),
    )
}

export function configText(config: ProxyConfig): string {
  return `${JSON.stringify(config, null, 2)}\n`
}

/** The gate options of a file. The agent comes from the client. */
export function gateOptionsOf(config: ProxyConfig, client: CountersignClient): GateOptions {
  const { unmapped, list, review, mode, others, pass, resources = {}, prompts = {}, methods = {} } = config
  const tools = Object.entries(config.tools)
  const map = mappingsOf(config.tools)
  const definitions = Object.fromEntries(
    tools.flatMap(([name, { definition }]) => (definition === undefined ? [] : [[name, definition]])),
  )
  return {
    ...{ client, map, definitions, unmapped, list, review, mode, others, pass },
    resources: mappingsOf(resources),
    prompts: mappingsOf(prompts),
    methods: mappingsOf(methods),
  }
}

function mappingsOf(tools: Readonly<Record<string, MappedTool>>): Readonly<Record<string, ToolMapping>> {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, toolMapping(tool)]))
}

function isWhole(agent_id: string): boolean {
  try {
    assertNoMissingPart({ agent_id })
    return true
  } catch {
    return false
  }
}

/** @throws ConfigError */
export function jsonIn(text: string, path: string): unknown {
  try {
    // Editors on Windows write a byte order mark.
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new ConfigError(path, [`the file is not valid JSON: ${(error as Error).message}`])
  }
}

/** A place as in `tools["read_file"].resource: `. Empty for the whole file. */
function placeOf(path: readonly PropertyKey[]): string {
  const steps = path.map((step, index) => {
    if (typeof step === 'number' || !/^\w+$/.test(String(step)) || path[index - 1] === 'tools')
      return `[${JSON.stringify(step)}]`
    return index === 0 ? String(step) : `.${String(step)}`
  })
  return steps.length === 0 ? '' : `${steps.join('')}: `
}
