/** The options of a guard of tools: the client, and what each tool is about. */
import type { CountersignClient } from '../../countersign-client.js'
import { knownOptions, OPTION_OWNERS } from '../../known-options.js'
import { knownOptionsOfClass } from '../../option-check.js'
import { ENFORCEMENT_OPTIONS, type EnforcementOptions } from '../enforcement-options.js'
import type { EnforcementPoint } from '../enforcement-point.js'

/** The arguments by name, after the schema of the tool. A tool of plain text has one, `input`. */
export type ToolArguments = Readonly<Record<string, unknown>>

/** What a tool call is about. */
export interface MappedCall {
  /** Without it, the option `unmapped` decides. */
  readonly action?: string | undefined
  /** Null for none; if the value is missing, the call is denied. */
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
 * Maps the call of a tool to what it is about: the action alone, member by member, or all of it by one function. If a
 * function throws or returns a promise, the call is denied. The same call must always map to the same.
 */
export type ToolMapping<Call> = string | MappedMembers<Call> | FromCall<MappedCall, Call>

/** `Review` are the integration's names for what happens to a review. */
export interface ToolGuardOptions<Call, Review extends string> extends Omit<EnforcementOptions, 'review'> {
  readonly client: CountersignClient
  /** The acting agent, or a function that reads it from the call. If it returns no string, the call is denied. Default: the client's `agentId`. */
  readonly agentId?: string | { of(call: Call): unknown }['of'] | undefined
  readonly review?: Review | undefined
  /** What a call of each tool is about, by the name of the tool. */
  readonly map?: Readonly<Record<string, ToolMapping<Call>>> | undefined
}

/** Where a guard asks, how it turns calls into questions, and what happens to a review. */
export interface ToolGuard<Call, Review extends string> {
  readonly client: CountersignClient
  readonly point: EnforcementPoint
  readonly review: Review
  readonly agentId: ToolGuardOptions<Call, Review>['agentId']
  /** The mapping of a tool by the option `map`. */
  readonly mappingOf: (tool: string) => ToolMapping<Call> | undefined
  /** The action of a tool: the mapped one, else by the option `unmapped`. @throws DeniedError (`unmapped`) */
  readonly actionOf: (tool: string, mapped?: string) => string
}

/** The options of every guard of tools, without `map`. */
export const TOOL_GUARD_OPTIONS: readonly string[] = ['client', 'agentId', ...ENFORCEMENT_OPTIONS]
export const MAPPED_MEMBERS = ['action', 'resource', 'context'] as const satisfies readonly (keyof MappedCall)[]

/**
 * @param of whose options they are, such as `guardTools`
 * @param reviews the option `review` of the enforcement point for each of the integration's; the first one is the default
 * @param own the names of further options, which the integration reads itself
 * @throws TypeError naming the faulty option
 */
export function toolGuard<Call, Review extends string>(
  of: string,
  options: ToolGuardOptions<Call, Review>,
  reviews: Readonly<Record<Review, EnforcementOptions['review']>>,
  own: readonly string[] = [],
): ToolGuard<Call, Review> {
  const given = knownOptionsOfClass(of, options, [...TOOL_GUARD_OPTIONS, 'map', ...own], OPTION_OWNERS)
  const { client, agentId, review, map } = given
  if (typeof client?.enforcement !== 'function') throw new TypeError('client must be a client of Countersign')
  if (agentId !== undefined && typeof agentId !== 'string' && typeof agentId !== 'function')
    throw new TypeError('agentId must be a string or a function')
  const ways = Object.keys(reviews) as Review[]
  const way = review === undefined ? ways[0] : review
  if (way === undefined || !ways.includes(way))
    throw new TypeError(`review must be one of ${ways.map((one) => `'${one}'`).join(', ')}`)
  const settings = Object.entries(given).filter(([name]) => ENFORCEMENT_OPTIONS.some((one) => one === name))
  const point = client.enforcement({ ...Object.fromEntries(settings), review: reviews[way] })
  const actionOf = (tool: string, mapped?: string): string => point.actionOf(tool, mapped)
  return { client, point, agentId, review: way, mappingOf: mappingIn(map), actionOf }
}

/**
 * The guard of one tool, whose `action`, `resource` and `context` are among its options.
 *
 * @param of whose options they are, such as `guardTool`
 * @throws TypeError naming the faulty option
 */
export function guardOfOneTool<Call, Review extends string>(
  of: string,
  tool: string,
  options: Omit<ToolGuardOptions<Call, Review>, 'map'> & MappedMembers<Call>,
  reviews: Readonly<Record<Review, EnforcementOptions['review']>>,
): ToolGuard<Call, Review> {
  const { action, resource, context, ...rest } = knownOptions(of, options, [...TOOL_GUARD_OPTIONS, ...MAPPED_MEMBERS])
  const members = Object.entries({ action, resource, context }).filter(([name]) => Object.hasOwn(options, name))
  return toolGuard(of, { ...rest, map: { [tool]: Object.fromEntries(members) } }, reviews)
}

/**
 * Looks up the mapping of a tool by its name, which a model wrote: `constructor` has none.
 *
 * @throws TypeError for a mapping that could never map
 */
export function mappingIn<Call>(
  map: Readonly<Record<string, ToolMapping<Call>>> = {},
): (tool: string) => ToolMapping<Call> | undefined {
  const mappings = new Map(Object.entries(map))
  for (const [tool, mapping] of mappings) assertToolMapping(tool, mapping)
  return (tool) => mappings.get(tool)
}

function assertToolMapping<Call>(tool: string, mapping: ToolMapping<Call>): void {
  if (typeof mapping === 'string' || typeof mapping === 'function') return
  const { resource } = { resource: null, ...knownOptions(`the mapping of ${tool}`, mapping, MAPPED_MEMBERS) }
  if (resource === undefined) throw new TypeError(`the resource of ${tool} is missing: null stands for none`)
}
