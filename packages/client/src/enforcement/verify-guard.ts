import type { CountersignClient } from '../countersign-client.js'
import { checkTimeout } from '../options.js'
import type { GuardRequest } from './asked.js'
import { assertOptions } from './enforcement-options.js'
import { FAULT_NAMES, GuardTrial } from './guard-trial.js'

/** A harmless action behind the guard that is tried out. */
export interface GuardCanary {
  /**
   * Calls the guarded action once, wired with this client in place of your own. How it ends does not matter; what counts is
   * whether the action ran.
   */
  attempt(client: CountersignClient): unknown
  /** How often the action itself has run so far. */
  runs(): number
  /** What the guard asks about, where `admin` is to make a policy for it. */
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
   * Makes a policy that allows, denies and has reviewed what the canaries ask about, for their agents alone, and deletes it
   * afterwards. Needs `policies:write`. Without it your own policies have to say so. Use agents that nothing else asks for.
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

const CHECK_NAMES: readonly GuardCheckName[] = ['allowed', 'denied', 'review', ...FAULT_NAMES]
const TIMEOUT_MS = 10_000

/**
 * Tries out a guard on your own set-up: whether what is denied, awaits a review, or has no decision point to answer for it is
 * really stopped. For a test, or at the start of a program.
 *
 * The canaries ask your decision point: decisions are recorded, and one is confirmed.
 *
 * @throws TypeError for faulty options
 * @throws ApiError, UnavailableError when `admin` could not make or delete its policy
 *
 * @example
 * let runs = 0
 * const canary = (action) => ({ attempt: (client) => client.guard({ action }, () => { runs += 1 }), runs: () => runs })
 * const { ok, checks } = await verifyGuard({ client, allowed: canary('canary.allow'), denied: canary('canary.deny'), review: canary('canary.review') })
 *
 * Source: docs/enforcement.md "Verify your guard".
 */
export async function verifyGuard(options: VerifyGuardOptions): Promise<GuardVerification> {
  assertOptions('verifyGuard', options, ['client', 'allowed', 'denied', 'review', 'admin', 'required', 'timeoutMs'])
  const required = readRequired(options.required)
  for (const name of ['allowed', 'denied', 'review'] as const) assertCanary(name, options)
  const trial = new GuardTrial(options, checkTimeout('timeoutMs', options.timeoutMs ?? TIMEOUT_MS))
  const checks = await trial.withPolicy(() => trial.run())
  const passed = checks.filter(({ outcome }) => outcome === 'pass').map(({ name }) => name)
  const ok = required.every((name) => passed.includes(name)) && checks.every(({ outcome }) => outcome !== 'fail')
  return { ok, checks }
}

function readRequired(required: VerifyGuardOptions['required']): readonly GuardCheckName[] {
  if (required === undefined) return CHECK_NAMES
  if (Array.isArray(required) && required.length > 0 && required.every((name) => CHECK_NAMES.includes(name)))
    return required
  throw new TypeError(`required has to name one or more of ${CHECK_NAMES.join(', ')}`)
}

function assertCanary(name: 'allowed' | 'denied' | 'review', options: VerifyGuardOptions): void {
  const canary = options[name]
  if (canary === undefined && name !== 'allowed') return
  if (typeof canary?.attempt !== 'function' || typeof canary.runs !== 'function') {
    throw new TypeError(`${name} has to be a canary, with attempt and runs`)
  }
}
