/** How a tool call becomes a question: by what the developer says of each tool, and by nothing that a model says of itself. */
import { assertOptions } from '../../known-options.js'
import type { GuardRequest } from '../arguments/asked.js'
import { atOnce } from '../at-once.js'
import { noteFaultPlace } from '../fault-place.js'

/** The arguments by name, after the schema of the tool. A tool of plain text has one, `input`. */
export type ToolArguments = Readonly<Record<string, unknown>>

/** What a mapping can read in addition to the arguments; each integration adds what its framework knows of a call. */
export interface CalledTool {
  readonly name: string
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
type FromCall<Value, Call> = { of(args: ToolArguments, call: Call): Value }['of']

/** Each member by a value, or by a function of the call. */
export type MappedMembers<Call> = {
  readonly [Member in keyof MappedCall]: MappedCall[Member] | FromCall<MappedCall[Member], Call>
}

/**
 * How the call of a tool maps to what it is about: the action alone, member by member, or all of it by one function. A
 * function that throws or gives a promise is a deny. The same call has to map to the same.
 */
export type ToolMapping<Call> = string | MappedMembers<Call> | FromCall<MappedCall, Call>

/** The acting agent of a call: a name, or a function that reads it where the app has put it. */
export type AgentIdOfCall<Call> = string | { of(call: Call): unknown }['of']

const MAPPED = 'the mapping of a tool'

export const MAPPED_MEMBERS = ['action', 'resource', 'context'] as const satisfies readonly (keyof MappedCall)[]

/** What calls are turned into questions by. */
export interface QuestionSettings<Call> {
  readonly point: { actionOf(tool: string, mapped?: string): string }
  /** Undefined: the client's own. */
  readonly agentId: AgentIdOfCall<Call> | undefined
}

/**
 * The question about a call of a tool, for `admit`.
 *
 * @throws what the mapping throws, a TypeError for an invalid question, and a DeniedError (`unmapped`)
 */
export function questionOfTool<Call extends CalledTool>(
  { point, agentId }: QuestionSettings<Call>,
  mapping: ToolMapping<Call> | undefined,
  args: unknown,
  call: Call,
): GuardRequest {
  const place = `the tool ${call.name}`
  try {
    const { action, resource, context } = mapped(mapping ?? {}, namedArguments(args), call)
    const agent_id = agentOfTool(agentId, call)
    const request = { agent_id, action: point.actionOf(call.name, action), resource, context } as GuardRequest
    noteFaultPlace(request, place)
    return request
  } catch (error) {
    noteFaultPlace(error, place)
    throw error
  }
}

/** The action of every call of a tool, where it does not depend on the call. */
export function fixedActionOf<Call>(mapping: ToolMapping<Call> | undefined): string | undefined {
  const action = typeof mapping === 'object' ? mapping.action : mapping
  return typeof action === 'string' ? action : undefined
}

/** @throws TypeError for a mapping that could never map */
export function checkToolMapping(tool: string, mapping: unknown): void {
  if (typeof mapping === 'string' || typeof mapping === 'function') return
  assertOptions(`the mapping of ${tool}`, mapping, MAPPED_MEMBERS)
  const { resource } = { resource: null, ...(mapping as MappedMembers<never>) }
  if (resource === undefined) throw new TypeError(`the resource of ${tool} is missing: null stands for none`)
}

function mapped<Call>(mapping: ToolMapping<Call>, args: ToolArguments, call: Call): MappedCall {
  if (typeof mapping === 'string') return { action: mapping }
  const given = typeof mapping === 'function' ? atOnce(MAPPED, mapping(args, call)) : mapping
  assertOptions('a mapped call', given, MAPPED_MEMBERS)
  const members = Object.entries(given).map(([name, from]) => {
    const value = typeof from === 'function' ? atOnce(MAPPED, from(args, call)) : from
    if (name === 'resource' && value === undefined) throw new TypeError('resource is missing: null stands for none')
    return [name, value]
  })
  return Object.fromEntries(members)
}

/** @throws TypeError where the function gives none */
export function agentOfTool<Call>(agentId: AgentIdOfCall<Call> | undefined, call: Call): string | undefined {
  if (typeof agentId !== 'function') return agentId
  const agent_id = atOnce('agentId', agentId(call))
  if (typeof agent_id === 'string') return agent_id
  throw new TypeError('agent_id is missing: agentId has to give a string')
}

function namedArguments(args: unknown): ToolArguments {
  return typeof args === 'object' && args !== null ? (args as ToolArguments) : { input: args }
}
