/** How a tool call becomes a question: by what the developer says of each tool, and by nothing that a model says of itself. */
import type { EnforcementPoint, GuardRequest } from '@countersign/client'
import { assertOptions, noteFaultPlace } from '@countersign/client/kernel'

/** The arguments by name, after the schema of the tool. A tool of plain text has one, `input`. */
export type ToolArguments = Readonly<Record<string, unknown>>

/** What a mapping can read beside the arguments. */
export interface GuardedToolCall {
  readonly name: string
  /** Undefined where the model gave none, and where a program calls the tool itself. */
  readonly id: string | undefined
  /** Given with the invocation, as in `agent.invoke(input, { context })`; empty without one. */
  readonly context: Readonly<Record<string, unknown>>
  /** Given with the invocation, too: `thread_id`, and what else the app puts there. */
  readonly configurable: Readonly<Record<string, unknown>>
}

/** What a tool call is about. */
export interface MappedCall {
  /** Without one it is as the option `unmapped` says. */
  readonly action?: string | undefined
  /** Null for none; a value that is missing is a deny. */
  readonly resource?: string | null
  /** Plain JSON. */
  readonly context?: Readonly<Record<string, unknown>> | null
}

/** Written as a method, so that a function may name the types of its own arguments. */
type FromCall<Value> = { from(args: ToolArguments, call: GuardedToolCall): Value }['from']

/** Each member by a value, or by a function of the call. */
export type MappedMembers = {
  readonly [Member in keyof MappedCall]: MappedCall[Member] | FromCall<MappedCall[Member]>
}

/**
 * How the call of a tool maps to what it is about: the action alone, member by member, or all of it by one function. A
 * function that throws or gives a promise is a deny. The same call has to map to the same.
 */
export type ToolMapping = string | MappedMembers | FromCall<MappedCall>

/** Who acts: a name, or a function that reads it where the app has put it. */
export type AgentId = string | { of(call: GuardedToolCall): unknown }['of']

export const MAPPED_MEMBERS = ['action', 'resource', 'context'] as const satisfies readonly (keyof MappedCall)[]

/** What a call is turned into a question by. */
export interface QuestionSettings {
  readonly point: Pick<EnforcementPoint, 'actionOf'>
  /** Undefined: the client's own. */
  readonly agentId: AgentId | undefined
}

/** @throws what the mapping throws, and a TypeError for what is no question */
export function questionOf(
  { point, agentId }: QuestionSettings,
  mapping: ToolMapping | undefined,
  args: unknown,
  call: GuardedToolCall,
): GuardRequest {
  try {
    const { action, resource, context } = mapped(mapping ?? {}, namedArguments(args), call)
    const agent_id = agentOf(agentId, call)
    const request = { agent_id, action: point.actionOf(call.name, action), resource, context } as GuardRequest
    noteFaultPlace(request, `the tool ${call.name}`)
    return request
  } catch (error) {
    noteFaultPlace(error, `the tool ${call.name}`)
    throw error
  }
}

/** The action of every call of a tool, where it does not depend on the call. */
export function fixedActionOf(mapping: ToolMapping | undefined): string | undefined {
  const action = typeof mapping === 'object' ? mapping.action : mapping
  return typeof action === 'string' ? action : undefined
}

/** @throws TypeError for a mapping that could never map */
export function checkMapping(tool: string, mapping: unknown): void {
  if (typeof mapping === 'string' || typeof mapping === 'function') return
  assertOptions(`the mapping of ${tool}`, mapping, MAPPED_MEMBERS)
  const { resource } = { resource: null, ...(mapping as MappedMembers) }
  if (resource === undefined) throw new TypeError(`the resource of ${tool} is missing: null stands for none`)
}

function mapped(mapping: ToolMapping, args: ToolArguments, call: GuardedToolCall): MappedCall {
  if (typeof mapping === 'string') return { action: mapping }
  const given = typeof mapping === 'function' ? atOnce(mapping(args, call)) : mapping
  assertOptions('a mapped call', given, MAPPED_MEMBERS)
  const members = Object.entries(given).map(([name, from]) => {
    const value = typeof from === 'function' ? atOnce(from(args, call)) : from
    if (name === 'resource' && value === undefined) throw new TypeError('resource is missing: null stands for none')
    return [name, value]
  })
  return Object.fromEntries(members)
}

/** @throws TypeError where the function gives none */
export function agentOf(agentId: AgentId | undefined, call: GuardedToolCall): string | undefined {
  if (typeof agentId !== 'function') return agentId
  const agent_id = atOnce(agentId(call))
  if (typeof agent_id === 'string') return agent_id
  throw new TypeError('agent_id is missing: agentId has to give a string')
}

/** @throws TypeError for a promise; what it rejects with later ends no process */
function atOnce<Value>(given: Value): Value {
  if (typeof Object(given).then !== 'function') return given
  Promise.resolve(given).catch(() => undefined)
  throw new TypeError('what a call is mapped to has to be given at once, not as a promise')
}

function namedArguments(args: unknown): ToolArguments {
  return typeof args === 'object' && args !== null ? (args as ToolArguments) : { input: args }
}
