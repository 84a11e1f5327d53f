import type { CountersignClient, EnforcementOptions, EnforcementPoint } from '@countersign/client'
import { ENFORCEMENT_OPTIONS } from '@countersign/client/kernel'
import type { AgentId, QuestionSettings } from './tool-question.js'

/** What every guard of this package is told. */
export interface ToolGuardOptions extends Omit<EnforcementOptions, 'review'> {
  readonly client: CountersignClient
  /** Default: the client's `agentId`. A function that gives no string is a deny. */
  readonly agentId?: AgentId | undefined
  /** What awaits a review: `deny` it (default), with words for the model; or `wait` until a person has answered. */
  readonly review?: 'wait' | 'deny' | undefined
}

export const TOOL_GUARD_OPTIONS: readonly string[] = ['client', 'agentId', ...ENFORCEMENT_OPTIONS]

/** Where a guard asks, and how it settles. */
export interface ToolGuard extends QuestionSettings {
  readonly point: EnforcementPoint
}

const REVIEWS = { deny: 'throw', wait: 'wait' } as const

/** @throws TypeError naming the faulty option */
export function toolGuard({ client, agentId, review = 'deny', ...rest }: ToolGuardOptions): ToolGuard {
  if (typeof client?.enforcement !== 'function') throw new TypeError('client has to be a client of Countersign')
  if (agentId !== undefined && typeof agentId !== 'string' && typeof agentId !== 'function')
    throw new TypeError('agentId has to be a string or a function')
  if (!Object.hasOwn(REVIEWS, review)) throw new TypeError("review has to be 'deny' or 'wait'")
  return { point: client.enforcement({ ...rest, review: REVIEWS[review] }), agentId }
}
