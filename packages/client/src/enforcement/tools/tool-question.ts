/** Turns the call of a tool into a question: by what the developer says of each tool, and by nothing that a model says. */
import { knownOptions } from '../../known-options.js'
import { heldData, heldOrRefused } from '../arguments/held-data.js'
import type { GuardRequest } from '../asking/asked.js'
import { atOnce } from '../at-once.js'
import { noteFaultPlace } from '../reporting/operator-faults.js'
import { MAPPED_MEMBERS, type MappedCall, type ToolArguments, type ToolGuard, type ToolMapping } from './tool-guard.js'

/** What every call has. Each integration adds what its framework knows about a call, for mappings to read. */
export interface CalledTool {
  readonly name: string
  /** The id of the call, if the model gave one. */
  readonly id?: string | undefined
}

/** How a guard turns calls into questions. */
type Asks<Call> = Pick<ToolGuard<Call, string>, 'agentId' | 'mappingOf' | 'actionOf'>

const MAPPED = 'the mapping of a tool'

export interface PreparedCall {
  /** For `admit`. @throws what kept the call from being mapped */
  readonly request: () => GuardRequest
  /** The arguments to run with: a new copy each time, because a tool may change what it is given. */
  readonly toRun: () => unknown
  /** The question and the frozen arguments; null if the call could not be mapped. */
  readonly question: { readonly request: GuardRequest; readonly args: unknown } | null
}

/**
 * Maps a call to its question. Whatever keeps it from that is thrown by `request`, and never here.
 *
 * @param parse gives the mapping the arguments as the tool will have them, if they have not passed its schema yet
 */
export async function prepareToolCall<Call extends CalledTool>(
  guard: Asks<Call>,
  call: Call,
  args: unknown,
  parse?: (args: unknown) => unknown,
): Promise<PreparedCall> {
  try {
    const take = heldOrRefused(() => heldData(args, 'arguments'))
    // Without a schema nothing is awaited, so the caller cannot change `call` before it is mapped.
    const request = questionOf(guard, parse ? await parse(take()) : take(), call)
    return {
      request: () => request,
      toRun: () => structuredClone(take()),
      question: { request, args: take() },
    }
  } catch (error) {
    const request = (): never => {
      throw error
    }
    // In the mode `observe` it runs with what it was given.
    return { request, toRun: () => args, question: null }
  }
}

/** @throws what the mapping throws, a TypeError for an invalid question, and a DeniedError (`unmapped`) */
function questionOf<Call extends CalledTool>(guard: Asks<Call>, args: unknown, call: Call): GuardRequest {
  const place = `the tool ${call.name}`
  try {
    const named = (typeof args === 'object' && args !== null ? args : { input: args }) as ToolArguments
    const { action, resource, context } = mapped(guard.mappingOf(call.name) ?? {}, named, call)
    const agent_id = agentOfTool(guard.agentId, call)
    const request = { agent_id, action: guard.actionOf(call.name, action), resource, context } as GuardRequest
    noteFaultPlace(request, place)
    return request
  } catch (error) {
    noteFaultPlace(error, place)
    throw error
  }
}

function mapped<Call>(mapping: ToolMapping<Call>, args: ToolArguments, call: Call): MappedCall {
  if (typeof mapping === 'string') return { action: mapping }
  const given = typeof mapping === 'function' ? atOnce(MAPPED, mapping(args, call)) : mapping
  const members = Object.entries(knownOptions('a mapped call', given, MAPPED_MEMBERS)).map(([name, from]) => {
    const value = typeof from === 'function' ? atOnce(MAPPED, from(args, call)) : from
    if (name === 'resource' && value === undefined) throw new TypeError('resource is missing: null stands for none')
    return [name, value]
  })
  return Object.fromEntries(members)
}

/** The agent of a call; undefined for the client's own. @throws TypeError if the function returns none */
export function agentOfTool<Call>(agentId: ToolGuard<Call, string>['agentId'], call: Call): string | undefined {
  if (typeof agentId !== 'function') return agentId
  const agent_id = atOnce('agentId', agentId(call))
  if (typeof agent_id === 'string') return agent_id
  throw new TypeError('agent_id is missing: agentId must return a string')
}
