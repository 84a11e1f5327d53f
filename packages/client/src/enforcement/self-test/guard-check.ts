/** What a trial of a guard is given, and what it says. */
import type { CountersignClient } from '../../countersign-client.js'
import type { GuardRequest } from '../arguments/asked.js'

/** A harmless action behind the guard that is tried out. */
export interface GuardCanary {
  /**
   * Calls the guarded action once, wired with this client in place of your own. How it ends does not matter; what counts is
   * whether the action ran.
   */
  attempt(client: CountersignClient): unknown
  /** How often the action itself has run so far. */
  runs(): number
  /** What the guard asks, where `admin` is to make a policy for it: without `resource`, it asks about none. */
  readonly asked?: (Pick<GuardRequest, 'action' | 'resource'> & { readonly agent_id: string }) | undefined
}

/** How the decision point is gone. */
export type FaultName = 'unreachable' | 'hanging' | 'error' | 'garbage' | 'unknown_effect' | 'other_agent'

/**
 * - `allowed`: the action runs, once, when it is allowed; else nothing that follows would mean anything;
 * - `denied`, `review`: it does not run when it is denied, or awaits a review;
 * - `unreachable`, `hanging`, `error`, `garbage`, `unknown_effect`, `other_agent`: the one that is allowed does not run when
 *   the decision point cannot be reached, never answers, answers 500, no decision, one of an effect that does not exist, or
 *   one about another agent; and its caller is told in time.
 */
export type GuardCheckName = 'allowed' | 'denied' | 'review' | FaultName

export interface VerifyGuardOptions {
  /** A client of your decision point, as your guard has one. */
  readonly client: CountersignClient
  readonly allowed: GuardCanary
  readonly denied?: GuardCanary | undefined
  readonly review?: GuardCanary | undefined
  /**
   * Makes a policy that denies, has reviewed and allows, once, only the questions of the canaries, and deletes it
   * afterwards, with those of earlier trials that were killed. Needs `policies:read` and `policies:write`. Without it your own
   * policies have to say so. Use an action and agents that nothing else asks for.
   */
  readonly admin?: CountersignClient | undefined
  /** What has to pass. Default: every check. One that fails counts in any case. */
  readonly required?: readonly GuardCheckName[] | undefined
  /** For each attempt, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined
}

export interface GuardCheck {
  readonly name: GuardCheckName
  /** `not_applicable`: it was not tried, or what happened says nothing. Never a pass. */
  readonly outcome: 'pass' | 'fail' | 'not_applicable'
  /** One sentence. */
  readonly detail: string
}

export interface GuardVerification {
  /** True only when every required check passed and none failed. */
  readonly ok: boolean
  readonly checks: readonly GuardCheck[]
}
