/** What every guard of tools is told, checked once. */
import type { CountersignClient } from '../../countersign-client.js'
import { ENFORCEMENT_OPTIONS, type EnforcementOptions } from '../enforcement-options.js'
import type { EnforcementPoint } from '../enforcement-point.js'
import { type AgentIdOfCall, checkToolMapping, type QuestionSettings, type ToolMapping } from './tool-question.js'

/** `Review` is what the integration calls its ways with a review. */
export interface ToolGuardOptions<Call, Review extends string> extends Omit<EnforcementOptions, 'review'> {
  readonly client: CountersignClient
  /** Default: the client's `agentId`. A function that gives no string is a deny. */
  readonly agentId?: AgentIdOfCall<Call> | undefined
  readonly review?: Review | undefined
}

/** Where a guard asks, and what becomes of a review. */
export interface ToolGuard<Call, Review extends string> extends QuestionSettings<Call> {
  readonly client: CountersignClient
  readonly point: EnforcementPoint
  readonly review: Review
}

export const TOOL_GUARD_OPTIONS: readonly string[] = ['client', 'agentId', ...ENFORCEMENT_OPTIONS]

/**
 * @param reviews what each way with a review is for the enforcement point; the first one is the default
 * @throws TypeError naming the faulty option
 */
export function toolGuard<Call, Review extends string>(
  { client, agentId, review, ...rest }: ToolGuardOptions<Call, Review>,
  reviews: Readonly<Record<Review, EnforcementOptions['review']>>,
): ToolGuard<Call, Review> {
  if (typeof client?.enforcement !== 'function') throw new TypeError('client has to be a client of Countersign')
  if (agentId !== undefined && typeof agentId !== 'string' && typeof agentId !== 'function')
    throw new TypeError('agentId has to be a string or a function')
  const ways = Object.keys(reviews) as Review[]
  const way = review === undefined ? ways[0] : review
  if (way === undefined || !ways.includes(way))
    throw new TypeError(`review has to be one of ${ways.map((one) => `'${one}'`).join(', ')}`)
  return { client, point: client.enforcement({ ...rest, review: reviews[way] }), agentId, review: way }
}

/** The name is a model's, and may be `constructor`. @throws TypeError for a mapping that could never map */
export function mappingIn<Call>(
  map: Readonly<Record<string, ToolMapping<Call>>> = {},
): (tool: string) => ToolMapping<Call> | undefined {
  const mappings = new Map(Object.entries(map))
  for (const [tool, mapping] of mappings) checkToolMapping(tool, mapping)
  return (tool) => mappings.get(tool)
}
