/** Pinned definitions: a hash shows whether a tool is still the tool that was mapped. */
import { createHash } from 'node:crypto'
import { DeniedError } from '@countersign/client'
import { warnOperator } from '@countersign/client/kernel'
import canonicalize from 'canonicalize'
import { ambiguousMember } from '../messages/json-rpc.js'
import { allEntries, type ListTools, type ToolListPage, toolName, toolsOfPage } from './tool-pages.js'

/** The hashed members of a tool: what the model reads, and what a host decides by. */
export const DEFINING_MEMBERS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

const DEFINITION_HASH = /^sha256-[0-9a-f]{64}$/

/** The part of a gate that is about pinned tools. */
export interface PinnedTools {
  /** Hashes of definitions by tool name. */
  readonly pinned: ReadonlyMap<string, string>
}

/**
 * The hash of a tool's definition: `sha256-` and 64 hexadecimal digits. It is the SHA-256 of the canonical JSON (RFC 8785) of exactly
 * `{name, title, description, inputSchema, outputSchema, annotations}`, without absent members.
 *
 * @throws Error for a value that is not a tool, has a member that can be confused with one of these, such as `Description`, or cannot
 * be written as canonical JSON, such as half of a surrogate pair
 *
 * Source: docs/mcp-server.md "Pinned definitions".
 */
export function definitionHash(tool: unknown): `sha256-${string}` {
  return `sha256-${createHash('sha256')
    .update(canonicalOf(definitionOf(tool)))
    .digest('hex')}`
}

/** @throws TypeError that names the faulty definition */
export function pinnedTools(definitions: unknown = {}): ReadonlyMap<string, string> {
  if (typeof definitions !== 'object' || definitions === null)
    throw new TypeError('definitions must be an object that maps tool names to hashes')
  const pinned = new Map(Object.entries(definitions))
  for (const [tool, hash] of pinned) {
    if (typeof hash === 'string' && DEFINITION_HASH.test(hash)) continue
    throw new TypeError(
      `the definition of ${tool} must be 'sha256-' and 64 hexadecimal digits, as definitionHash returns`,
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
 * definition for the next check only.
 */
export class ToolDefinitions {
  /** Pinned tools that the server has shown unchanged since the last change of the list. */
  readonly #sound = new Set<string>()
  readonly #faulty = new Map<string, Fault>()
  /** How often the list has changed. */
  #changes = 0
  /** The running request for the list. It resolves with the names of the unchanged tools. */
  #look: Promise<ReadonlySet<string>> | null = null

  constructor(private readonly gate: PinnedTools) {}

  /** The list of the server has changed. Tools that were unchanged count as unknown; changed tools stay denied. */
  listChanged(): void {
    this.#changes += 1
    this.#sound.clear()
    this.#look = null
  }

  /** Notes the tools of a page, as the server sent it. */
  note(page: ToolListPage): void {
    for (const name of this.#compared(toolsOfPage(page))) this.#sound.add(name)
  }

  /** Whether the tool must be hidden, because the noted definition is not the one that was mapped. */
  isFaulty(name: string): boolean {
    return this.#faulty.has(name)
  }

  /**
   * The refusal of a tool that differs from its pinned definition, or whose definition is unknown. Undefined for an unchanged tool
   * and for a tool without a pinned definition. Never rejects.
   *
   * @param list requests the list of the server, if this tool was not shown since the last change
   */
  async fault(name: string, list: ListTools): Promise<DeniedError | undefined> {
    if (!this.gate.pinned.has(name)) return undefined
    try {
      const isSound = this.#sound.has(name) || this.#faulty.has(name) || (await this.#looked(list)).has(name)
      const fault = this.#faulty.get(name) ?? (isSound ? undefined : 'missing')
      return fault && denial(name, fault)
    } catch (cause) {
      return denial(name, 'unknown', cause)
    }
  }

  /** Concurrent calls share a request, but not its failure: the caller whose request it was may have left. */
  async #looked(list: ListTools): Promise<ReadonlySet<string>> {
    try {
      if (this.#look !== null) return await this.#look
    } catch {
      // Ask again.
    }
    this.#look ??= this.#lookUp(list)
    return this.#look
  }

  async #lookUp(list: ListTools): Promise<ReadonlySet<string>> {
    const changes = this.#changes
    try {
      const sound = this.#compared(await allEntries('tools', list))
      // If the list has changed since, the answer counts for these callers only.
      if (changes === this.#changes) for (const name of sound) this.#sound.add(name)
      return sound
    } finally {
      if (changes === this.#changes) this.#look = null
    }
  }

  /** Returns the names of the unchanged tools, and notes the changed ones. */
  #compared(tools: readonly unknown[]): ReadonlySet<string> {
    const { pinned } = this.gate
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

/** Undefined if the definition cannot be hashed. Such a tool is never the pinned one. */
export function hashOf(tool: unknown): ReturnType<typeof definitionHash> | undefined {
  try {
    return definitionHash(tool)
  } catch {
    return undefined
  }
}

/**
 * The hashed members of a tool, as sent.
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
  if (canonical === undefined) throw new TypeError('A tool must be JSON.')
  return canonical
}
