import { knownOptions } from '../../known-options.js'
import { checkTimeout } from '../../options.js'
import { withCanaryPolicy } from './canary-policy.js'
import type { GuardCheckName, GuardVerification, VerifyGuardOptions } from './guard-check.js'
import { FAULT_NAMES, GuardTrial } from './guard-trial.js'

export type { GuardCanary, GuardCheck, GuardCheckName, GuardVerification, VerifyGuardOptions } from './guard-check.js'

const CHECK_NAMES: readonly GuardCheckName[] = ['allowed', 'denied', 'review', ...FAULT_NAMES]
const TIMEOUT_MS = 10_000

/**
 * Tries out a guard in your own set-up: whether it really stops an action that is denied, that awaits a review, and that gets
 * no valid answer. For a test, or at the start of a program.
 *
 * The canaries ask your decision point: decisions are recorded, and one is confirmed.
 *
 * @throws TypeError for faulty options
 * @throws ApiError, UnavailableError if `admin` could not create or delete its policy
 *
 * @example
 * let runs = 0
 * const canary = (action) => ({ attempt: (client) => client.guard({ action }, () => { runs += 1 }), runs: () => runs })
 * const { ok, checks } = await verifyGuard({ client, allowed: canary('canary.allow'), denied: canary('canary.deny'), review: canary('canary.review') })
 *
 * Source: docs/enforcement.md "Verify your guard".
 */
export async function verifyGuard(options: VerifyGuardOptions): Promise<GuardVerification> {
  knownOptions('verifyGuard', options, ['client', 'allowed', 'denied', 'review', 'admin', 'required', 'timeoutMs'])
  const required = readRequired(options.required)
  for (const name of ['allowed', 'denied', 'review'] as const) assertCanary(name, options)
  const trial = new GuardTrial(options, checkTimeout('timeoutMs', options.timeoutMs ?? TIMEOUT_MS))
  const checks = await withCanaryPolicy(options, () => trial.run())
  const passed = checks.filter(({ outcome }) => outcome === 'pass').map(({ name }) => name)
  const ok = required.every((name) => passed.includes(name)) && checks.every(({ outcome }) => outcome !== 'fail')
  return { ok, checks }
}

function readRequired(required: VerifyGuardOptions['required']): readonly GuardCheckName[] {
  if (required === undefined) return CHECK_NAMES
  if (Array.isArray(required) && required.length > 0 && required.every((name) => CHECK_NAMES.includes(name)))
    return required
  throw new TypeError(`required must name one or more of ${CHECK_NAMES.join(', ')}`)
}

function assertCanary(name: 'allowed' | 'denied' | 'review', options: VerifyGuardOptions): void {
  const canary = options[name]
  if (canary === undefined && name !== 'allowed') return
  if (typeof canary?.attempt !== 'function' || typeof canary.runs !== 'function') {
    throw new TypeError(`${name} must be a canary, with attempt and runs`)
  }
}
