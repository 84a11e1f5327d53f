/** Pinned definitions: detects by a hash whether a tool is still the one that was mapped. */
import { createHash } from 'node:crypto'
import { DeniedError } from '@countersign/client'
import { warnOperator } from '@countersign/client/kernel'
import canonicalize from 'canonicalize'
import { ambiguousMember } from './json-rpc.js'
import { allTools, type ListTools, type ToolListPage, toolName, toolsOfPage } from './tool-pages.js'

/** The hashed members of a tool: what the model reads, and what a host decides by. */
export const DEFINING_MEMBERS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

const DEFINITION_HASH = /^sha256-[0-9a-f]{64}$/

/** What a gate is told of the tools as they were mapped. */
export interface PinnedTools {
  /** Hashes of definitions, by the name of the tool. */
  readonly pinned: ReadonlyMap<string, string>
}

/**
 * The hash of a tool's definition: `sha256-` and 64 hexadecimal digits. It is the SHA-256 of the canonical JSON (RFC 8785) of exactly
 * `{name, title, description, inputSchema, outputSchema, annotations}`, without absent members.
 *
 * @throws Error for a value that is not a tool, has a member that can be confused with one of these, such as `Description`, or
 * cannot be written as canonical JSON, such as half of a surrogate pair
 *
 * Source: docs/mcp.md "Pinned definitions".
 */
export function definitionHash(tool: unknown): `sha256-${string}` {
  return `sha256-${createHash('sha256')
    .update(canonicalOf(definitionOf(tool)))
    .digest('hex')}`
}

/** @throws TypeError naming the faulty one */
export function pinnedTools(definitions: unknown = {}): ReadonlyMap<string, string> {
  if (typeof definitions !== 'object' || definitions === null)
    throw new TypeError('definitions has to be an object that maps tool names to hashes')
  const pinned = new Map(Object.entries(definitions))
  for (const [tool, hash] of pinned) {
    if (typeof hash === 'string' && DEFINITION_HASH.test(hash)) continue
    throw new TypeError(
      `the definition of ${tool} has to be 'sha256-' and 64 hexadecimal digits, as definitionHash returns`,
    )
  }
  return pinned
}

/** Why a pinned tool is denied, as sentences for the caller. They contain no text of the server. */
const FAULTS = {
  changed: 'This tool has changed since it was mapped',
  shown_twice: 'The server shows two tools with this name',
  missing: 'The server does not show this tool',
  unknown: 'The tool list of the server could not be read',
} as const

type Fault = keyof typeof FAULTS

/**
 * The tools that one server has shown. A tool that was once shown changed or twice stays denied, because a server could show the old
 * definition just for the next check.
 */
export class ToolDefinitions {
  readonly #gate: PinnedTools
  /** Pinned tools as they were mapped, shown since the list changed last. */
  readonly #sound = new Set<string>()
  readonly #faulty = new Map<string, Fault>()
  /** How often the list has changed. */
  #changes = 0
  /** The look at the list that is in progress: the names of what it finds sound. */
  #look: Promise<ReadonlySet<string>> | null = null

  constructor(gate: PinnedTools) {
    this.#gate = gate
  }

  /** The server says that its list has changed: what was seen does not count any more. A change that was found does. */
  listChanged(): void {
    this.#changes += 1
    this.#sound.clear()
    this.#look = null
  }

  /** What a page of the list shows, as it came from the server. */
  note(page: ToolListPage): void {
    for (const name of this.#compared(toolsOfPage(page))) this.#sound.add(name)
  }

  /** Whether a tool may not be shown, as of what was noted: its words are not those that were mapped. */
  isFaulty(name: string): boolean {
    return this.#faulty.has(name)
  }

  /**
   * The refusal for a tool that differs from its pinned definition, or whose definition is unknown. Undefined for a sound tool, and for
   * one without a pinned definition. Never rejects.
   *
   * @param list asks the server for its list, when this tool was not shown since the list changed last
   */
  async fault(name: string, list: ListTools): Promise<DeniedError | undefined> {
    if (!this.#gate.pinned.has(name)) return undefined
    try {
      const isSound = this.#sound.has(name) || this.#faulty.has(name) || (await this.#looked(list)).has(name)
      const fault = this.#faulty.get(name) ?? (isSound ? undefined : 'missing')
      return fault && denial(name, fault)
    } catch (cause) {
      return denial(name, 'unknown', cause)
    }
  }

  /** Calls at the same time share a look, but not its failure: whose call it was may have left. */
  async #looked(list: ListTools): Promise<ReadonlySet<string>> {
    try {
      if (this.#look !== null) return await this.#look
    } catch {
      // Once more, then.
    }
    this.#look ??= this.#lookUp(list)
    return this.#look
  }

  async #lookUp(list: ListTools): Promise<ReadonlySet<string>> {
    const changes = this.#changes
    try {
      const sound = this.#compared(await allTools(list))
      // Where the list has changed meanwhile, it counts for those alone who have asked.
      if (changes === this.#changes) for (const name of sound) this.#sound.add(name)
      return sound
    } finally {
      if (changes === this.#changes) this.#look = null
    }
  }

  /** The names of the tools that are as they were mapped; notes those that are not. */
  #compared(tools: readonly unknown[]): ReadonlySet<string> {
    const { pinned } = this.#gate
    const shown = new Set<string>()
    for (const tool of pinned.size === 0 ? [] : tools) {
      const name = toolName(tool) ?? ''
      const hash = pinned.get(name)
      if (hash === undefined || this.#faulty.has(name)) continue
      if (shown.has(name)) this.#faulty.set(name, 'shown_twice')
      else if (hashOf(tool) !== hash) this.#faulty.set(name, 'changed')
      shown.add(name)
    }
    for (const name of this.#faulty.keys()) {
      shown.delete(name)
      this.#sound.delete(name)
    }
    return shown
  }
}

function denial(name: string, fault: Fault, cause?: unknown): DeniedError {
  warnOperator(
    'COUNTERSIGN_TOOL_CHANGED',
    `The tool ${JSON.stringify(name.slice(0, 100))} is denied: ${FAULTS[fault]}. Compare the tool with its pinned definition, using countersign-mcp check or definitionHash. If you accept the change, pin it.`,
    `${fault} ${name}`,
  )
  return new DeniedError('unmapped', { detail: `${FAULTS[fault]}.`, cause })
}

/** Undefined for what has none, which is never the one that was pinned. */
export function hashOf(tool: unknown): ReturnType<typeof definitionHash> | undefined {
  try {
    return definitionHash(tool)
  } catch {
    return undefined
  }
}

/**
 * What of a tool is hashed, as it is on the wire.
 *
 * @throws Error as definitionHash does
 */
export function definitionOf(tool: unknown): Readonly<Record<string, unknown>> {
  if (toolName(tool) === undefined) throw new TypeError('A tool needs a name.')
  const ambiguous = ambiguousMember(tool as object, DEFINING_MEMBERS)
  if (ambiguous !== undefined) throw new TypeError('Two members of the tool can be confused with each other.')
  const { name, title, description, inputSchema, outputSchema, annotations } = tool as Record<string, unknown>
  return JSON.parse(JSON.stringify({ name, title, description, inputSchema, outputSchema, annotations }))
}

/** @throws Error as definitionHash does */
export function canonicalOf(value: unknown): string {
  const canonical = canonicalize(value)
  if (canonical === undefined) throw new TypeError('A tool has to be JSON.')
  return canonical
}
