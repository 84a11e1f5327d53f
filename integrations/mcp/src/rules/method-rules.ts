/**
 * The rules of a gate for methods other than `tools/call`: which calls are mapped, which pass without a decision, and which requests
 * a server may send to its client. Source: docs/mcp-methods.md "Resources, prompts and other methods".
 */
import { DeniedError } from '@countersign/client'
import { actionOfTool, atOnce, type MappedCall, mappingIn, type ToolArguments } from '@countersign/client/kernel'
import type { GatedCall, MappedMembers, ToolMapping } from '../calls/call.js'
import { isObject } from '../messages/json-rpc.js'
import {
  ASKED_REQUESTS,
  folded,
  LISTEN,
  PASSING_NOTIFICATIONS,
  PASSING_REQUESTS,
  PASSING_SERVER_REQUESTS,
  TASK_LIST,
  TASK_REQUESTS,
  TOOL_CALL,
} from './methods.js'
import { faultOfCharacters, faultOfUri, resourceOfUri, UriPatterns } from './resource-uri.js'

export type Others = 'deny' | 'map' | 'pass'

export interface MethodOptions {
  /** Mappings of `resources/read` and of subscriptions, by URI. `*` stands for any characters: `file:///home/you/*`. */
  readonly resources?: Readonly<Record<string, ToolMapping>> | undefined
  /** Mappings of `prompts/get`, by the name of the prompt. */
  readonly prompts?: Readonly<Record<string, ToolMapping>> | undefined
  /** Mappings of other requests and notifications by method, such as `completion/complete` or `acme/export`. */
  readonly methods?: Readonly<Record<string, ToolMapping>> | undefined
  /**
   * The rule for unmapped resources, prompts, completions and methods that the protocol does not know. `deny` (default): refused.
   * `map`: the gate asks with the action `mcp.resources.read`, `mcp.resources.subscribe`, `mcp.prompts.get`, `mcp.completion` or
   * `mcp.method.<name>`. `pass`: they pass without a decision.
   */
  readonly others?: Others | undefined
  /**
   * Methods that pass without a decision unless the call is mapped. If this is set, requests of the server such as
   * `sampling/createMessage`, `elicitation/create` and `roots/list` pass only if they are listed.
   */
  readonly pass?: readonly string[] | undefined
}

/** The limit of the decision point for a resource. */
const MAX_RESOURCE = 512

export class MethodRules {
  readonly #resources: UriPatterns<ToolMapping>
  readonly #promptOf: (name: string) => ToolMapping | undefined
  readonly #methodOf: (method: string) => ToolMapping | undefined
  readonly #prompts: ReadonlySet<string>
  readonly #others: Others
  readonly #pass: ReadonlySet<string>
  readonly #limitsServer: boolean

  /** @throws TypeError that names the faulty option */
  constructor({ resources = {}, prompts = {}, methods = {}, others = 'deny', pass }: MethodOptions) {
    if (!['deny', 'map', 'pass'].includes(others)) throw new TypeError("others must be 'deny', 'map' or 'pass'")
    for (const method of Object.keys(methods)) assertCanBeMapped(method)
    this.#pass = passing(pass)
    this.#others = others
    this.#limitsServer = pass !== undefined
    const resourceOf = mappingIn(resources)
    this.#resources = new UriPatterns(new Map(Object.keys(resources).map((uri) => [uri, resourceOf(uri)!])))
    this.#promptOf = mappingIn(prompts)
    this.#prompts = new Set(Object.keys(prompts).map(folded))
    this.#methodOf = mappingIn(methods)
  }

  /** Whether every call of this method passes. */
  isOpen(method: string): boolean {
    return this.#isUnasked(method) && !this.#canBeMapped(method)
  }

  /** Whether a call passes: it is not mapped, and cannot be read as a mapped call. */
  passes(call: GatedCall): boolean {
    return this.#isUnasked(call.method) && this.#mappingOf(call) === undefined && !this.#isLikeMapped(call)
  }

  /** Whether a request of the server may reach the client. */
  passesToClient(method: string): boolean {
    return !this.#limitsServer || PASSING_SERVER_REQUESTS.has(method) || this.#pass.has(method)
  }

  /** The mapping of a call, with defaults for what the mapping leaves out. */
  mappingFor(call: GatedCall): ToolMapping {
    return withDefaults(this.#mappingOf(call))
  }

  /** @throws DeniedError (`unmapped`) that names the options that permit the call */
  actionOf(call: GatedCall, mapped: string | undefined): string {
    if (mapped !== undefined) return mapped
    if (this.#others === 'map') return actionOfMethod(call.method)
    throw new DeniedError('unmapped', { detail: unmappedDetail(call) })
  }

  /** The mappings of URIs that a template could produce. Undefined stands for a mapping by the method only. */
  mappingsOfTemplate(template: string): readonly (ToolMapping | undefined)[] {
    return [...this.#resources.possibleFor(template), this.#methodOf('resources/read')]
  }

  #isUnasked(method: string): boolean {
    return (this.#others === 'pass' && !isTask(method)) || this.#pass.has(method)
  }

  #canBeMapped(method: string): boolean {
    if (this.#methodOf(method) !== undefined) return true
    return method === 'prompts/get' ? this.#prompts.size > 0 : isAboutResource(method) && this.#resources.areAny
  }

  #mappingOf({ method, name }: GatedCall): ToolMapping | undefined {
    const byName = isAboutResource(method)
      ? this.#resources.find(name)
      : method === 'prompts/get'
        ? this.#promptOf(name)
        : undefined
    return byName ?? this.#methodOf(method)
  }

  #isLikeMapped({ method, name }: GatedCall): boolean {
    if (isAboutResource(method)) return this.#resources.areAny && faultOfUri(name) !== undefined
    return method === 'prompts/get' && this.#prompts.has(folded(name))
  }
}

/** The action of a method without a mapping. As with tools, no two methods share an action. */
export function actionOfMethod(method: string): string {
  return ASKED_REQUESTS.get(method) ?? actionOfTool(method, 'mcp.method')
}

function isAboutResource(method: string): boolean {
  return method === 'resources/read' || method === 'resources/subscribe' || method === LISTEN
}

function withDefaults(mapping: ToolMapping | undefined): ToolMapping {
  const defaults: MappedMembers = { resource: (_args, call) => resourceOf(call), context: contextOf }
  if (typeof mapping === 'function')
    return (args, call) => {
      const given: MappedCall = atOnce('the mapping of a method', mapping(args, call))
      return isObject(given) ? { resource: resourceOf(call), context: contextOf(args, call), ...given } : given
    }
  return { ...defaults, ...(typeof mapping === 'string' ? { action: mapping } : mapping) }
}

/** @throws DeniedError (`question_refused`) for a name that is not allowed in a resource */
function resourceOf({ method, name, ref }: GatedCall): string {
  const resource =
    isAboutResource(method) || ref === 'ref/resource'
      ? resourceOfUri(name)
      : method === 'prompts/get' || ref === 'ref/prompt'
        ? `prompt:${name}`
        : `method:${method}`
  const fault =
    resource.length > MAX_RESOURCE ? `has more than ${MAX_RESOURCE} characters` : faultOfCharacters(resource)
  if (fault === undefined) return resource
  throw new DeniedError('question_refused', { detail: `The resource of this call comes from ${method}, and ${fault}.` })
}

/** The arguments that the resource does not contain. Null for none. */
function contextOf(args: ToolArguments, { method }: GatedCall): Record<string, unknown> | null {
  const { uri: _uri, ...ofResource } = args
  const { ref: _ref, ...ofCompletion } = args
  const rest = isAboutResource(method) ? ofResource : method === 'completion/complete' ? ofCompletion : args
  return Object.keys(rest).length === 0 ? null : { ...rest }
}

function unmappedDetail({ method }: GatedCall): string {
  const members = isAboutResource(method) ? '"resources"' : method === 'prompts/get' ? '"prompts"' : `"methods"`
  const shown = JSON.stringify(method === LISTEN ? 'resources/subscribe' : method.slice(0, 100))
  return `Nothing maps this use of ${shown} to an action. An operator can map it in ${members}, set "others" to "map", or list ${shown} in "pass".`
}

/** @throws TypeError */
function assertCanBeMapped(method: string): void {
  if (method === LISTEN)
    throw new TypeError(
      `methods cannot hold ${JSON.stringify(LISTEN)}: map "resources/subscribe", which also covers it`,
    )
  const where = method === TOOL_CALL ? 'map tools by their names' : 'it passes, and is never asked about'
  if (method === TOOL_CALL || PASSING_REQUESTS.has(method) || PASSING_NOTIFICATIONS.has(method) || isTask(method))
    throw new TypeError(`methods cannot hold ${JSON.stringify(method)}: ${where}`)
}

function passing(pass: unknown): ReadonlySet<string> {
  if (pass === undefined) return new Set()
  if (!Array.isArray(pass) || !pass.every((method) => typeof method === 'string'))
    throw new TypeError('pass must be a list of methods, such as ["prompts/get"]')
  if (pass.includes(TOOL_CALL)) throw new TypeError('pass cannot hold "tools/call": map tools by their names')
  // Permission to subscribe holds for both revisions of the protocol.
  return new Set(pass.includes('resources/subscribe') ? [...pass, LISTEN] : pass)
}

function isTask(method: string): boolean {
  return TASK_REQUESTS.has(method) || method === TASK_LIST
}
