/** The options and the result of a trial of a guard. */
import type { CountersignClient } from '../../countersign-client.js'
import type { GuardRequest } from '../asking/asked.js'

/** A harmless action with the guard that is tried out. */
export interface GuardCanary {
  /**
   * Calls the guarded action once, with this client in place of your own. It does not matter how the call ends, only whether
   * the action ran.
   */
  attempt(client: CountersignClient): unknown
  /** How often the action itself has run so far. */
  runs(): number
  /** What the guard asks, if `admin` makes a policy for it. Without `resource`, it asks about none. */
  readonly asked?: (Pick<GuardRequest, 'action' | 'resource'> & { readonly agent_id: string }) | undefined
}

/** How the decision point fails. */
export type FaultName = 'unreachable' | 'hanging' | 'error' | 'garbage' | 'unknown_effect' | 'other_agent'

/**
 * - `allowed`: the action runs once if it is allowed; otherwise the other checks mean nothing;
 * - `denied`, `review`: the action does not run if it is denied, or awaits a review;
 * - `unreachable`, `hanging`, `error`, `garbage`, `unknown_effect`, `other_agent`: the allowed action does not run if the
 *   decision point cannot be reached, never answers, or answers with 500, with no decision, with an effect that does not exist,
 *   or with a decision about another agent; and its caller gets an answer in time.
 */
export type GuardCheckName = 'allowed' | 'denied' | 'review' | FaultName

export interface VerifyGuardOptions {
  /** A client of your decision point, as your guard has one. */
  readonly client: CountersignClient
  readonly allowed: GuardCanary
  readonly denied?: GuardCanary | undefined
  readonly review?: GuardCanary | undefined
  /**
   * Creates a policy only for the questions of the canaries, which denies, requires a review, and allows once. Deletes it
   * afterwards, with those of earlier trials that were killed. Needs `policies:read` and `policies:write`. Without it, your own
   * policies must decide so. Use an action and agents that nothing else asks for.
   */
  readonly admin?: CountersignClient | undefined
  /** The checks that must pass. Default: all. A failed check counts in any case. */
  readonly required?: readonly GuardCheckName[] | undefined
  /** For each attempt, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

export interface GuardCheck {
  readonly name: GuardCheckName
  /** `not_applicable`: it was not tried, or the result says nothing. Never a pass. */
  readonly outcome: 'pass' | 'fail' | 'not_applicable'
  /** One sentence. */
  readonly detail: string
}

export interface GuardVerification {
  /** True only if every required check passed and none failed. */
  readonly ok: boolean
  readonly checks: readonly GuardCheck[]
}
