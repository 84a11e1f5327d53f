import type { Decision } from './wire.js'

/** The action that is about to run, and the agent. */
export interface AskedAction {
  readonly agent_id: string
  readonly action: string
  /** Null and absent are the same. */
  readonly resource?: string | null | undefined
}

/** A decision that was permitted when it was returned, with the permit that proves it to others. */
export type PermittedDecision = Decision & { readonly permit_token: string }

/**
 * Whether a decision lets an action run now.
 *
 * True only while the decision is authorized, has not expired, and its agent, action and resource are the requested
 * ones. Otherwise false.
 *
 * @example
 * const decision = await client.authorize(asked)
 * if (!isPermitted(decision, asked)) throw new Error(decision.reason ?? decision.status)
 *
 * Source: docs/sdk.md "Ask before you act".
 */
export function isPermitted(
  decision: Pick<Decision, 'status' | 'effect' | 'expires_at' | 'agent_id' | 'action' | 'resource'>,
  asked: AskedAction,
  now: Date = new Date(),
): boolean {
  return (
    decision.status === 'authorized' &&
    (decision.effect === 'allow' || decision.effect === 'log' || decision.effect === 'review') &&
    Date.parse(decision.expires_at) > now.getTime() &&
    isAnswerTo(decision, asked)
  )
}

/** Whether a decision is about exactly this agent, action and resource. */
export function isAnswerTo(decision: Pick<Decision, 'agent_id' | 'action' | 'resource'>, asked: AskedAction): boolean {
  return (
    decision.agent_id === asked.agent_id &&
    decision.action === asked.action &&
    decision.resource === (asked.resource ?? null)
  )
}
