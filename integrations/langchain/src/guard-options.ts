import type { CountersignClient, EnforcementOptions, EnforcementPoint } from '@countersign/client'
import { checkToolMapping, ENFORCEMENT_OPTIONS, type QuestionSettings } from '@countersign/client/kernel'
import type { AgentId, GuardedToolCall, ToolMapping } from './guarded-tool-call.js'

/** What every guard of this package is told. */
export interface ToolGuardOptions extends Omit<EnforcementOptions, 'review'> {
  readonly client: CountersignClient
  /** Default: the client's `agentId`. A function that gives no string is a deny. */
  readonly agentId?: AgentId | undefined
  /**
   * What awaits a review: `deny` it (default), with words for the model; `interrupt` the graph with a ReviewRequest until the
   * app resumes it, which needs a checkpointer; or `wait` until a person has answered. Whatever a graph is resumed with, what
   * was answered at the decision point counts.
   */
  readonly review?: 'deny' | 'interrupt' | 'wait' | undefined
}

/** For guards of several tools. */
export interface ToolsGuardOptions extends ToolGuardOptions {
  /** What a call of each tool is about, by the name of the tool. */
  readonly map?: Readonly<Record<string, ToolMapping>> | undefined
}

/** Where a guard asks, and what becomes of a review. */
export interface ToolGuard extends QuestionSettings<GuardedToolCall> {
  readonly client: CountersignClient
  readonly point: EnforcementPoint
  readonly review: 'deny' | 'interrupt' | 'wait'
}

/** The mapping of a tool, by its name. */
export type MappingOf = (tool: string) => ToolMapping | undefined

export const TOOL_GUARD_OPTIONS: readonly string[] = ['client', 'agentId', ...ENFORCEMENT_OPTIONS]

const REVIEWS = { deny: 'throw', interrupt: 'pause', wait: 'wait' } as const

/** @throws TypeError naming the faulty option */
export function toolGuard({ client, agentId, review = 'deny', ...rest }: ToolGuardOptions): ToolGuard {
  if (typeof client?.enforcement !== 'function') throw new TypeError('client has to be a client of Countersign')
  if (agentId !== undefined && typeof agentId !== 'string' && typeof agentId !== 'function')
    throw new TypeError('agentId has to be a string or a function')
  if (!Object.hasOwn(REVIEWS, review)) throw new TypeError("review has to be 'deny', 'interrupt' or 'wait'")
  return { client, point: client.enforcement({ ...rest, review: REVIEWS[review] }), agentId, review }
}

/** The name is a model's, and may be `constructor`. @throws TypeError for a mapping that could never map */
export function mappingIn(map: ToolsGuardOptions['map'] = {}): MappingOf {
  const mappings = new Map(Object.entries(map))
  for (const [tool, mapping] of mappings) checkToolMapping(tool, mapping)
  return (tool) => mappings.get(tool)
}
