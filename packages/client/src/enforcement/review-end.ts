/** What the end of a review means for a call that repeats the one which asked for it. */
import { ApiError } from '../errors/api-error.js'
import type { DeniedReason } from '../errors/denied-error.js'
import type { Decision, DecisionStatus } from '../wire.js'
import { denialFor } from './denial.js'

/** Statuses with which no repeat of a call can run: it asks again. A declined call is told so, once. */
const SETTLED = new Set<DecisionStatus>(['confirmed', 'rejected', 'expired'])
/** What a claim may come to when somebody else was first. */
const TAKEN = new Set<DeniedReason>(['already_claimed', 'permit_already_used', 'settled'])
/** Refusals after which a review may still come to run. */
const STAYS_OPEN = new Set<DeniedReason>(['review_required', 'unavailable', 'policy_denies', 'agent_suspended'])

export function isEnded({ status }: Decision): boolean {
  return SETTLED.has(status)
}

/** Somebody else was first. */
export function isTaken(error: unknown): boolean {
  return TAKEN.has(denialFor(error, null).reason)
}

/** Nobody can run it any more, or this key may not. */
export function isGone(error: unknown): boolean {
  if (ApiError.isInstance(error) && (error.status === 403 || error.status === 404)) return true
  return isTaken(error) || denialFor(error, null).reason === 'withdrawn'
}

/** Whether it may still come to run after this refusal. */
export function staysOpen(error: unknown, decision: Decision): boolean {
  return STAYS_OPEN.has(denialFor(error, decision).reason)
}
