/** Why an action may not run: every answer and every fault, as a DeniedError. */
import { ApiError } from '../../errors/api-error.js'
import { DeniedError, type DeniedFields } from '../../errors/denied-error.js'
import { NotPermittedError } from '../../errors/not-permitted-error.js'
import type { DeniedReason } from '../../errors/refusal-reason.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import type { Decision, DecisionStatus } from '../../wire.js'
import type { Would } from '../reporting/enforcement-event.js'

const BY_STATUS: Readonly<Record<DecisionStatus, DeniedReason>> = {
  awaiting_review: 'review_required',
  approved: 'review_required',
  // It may run, but has expired by this clock.
  authorized: 'expired',
  denied: 'denied',
  declined: 'declined',
  expired: 'expired',
  confirmed: 'settled',
  rejected: 'settled',
}

/** Codes of problems that are also reasons of a refusal. */
const SAID = ['already_claimed', 'agent_suspended', 'policy_denies', 'permit_already_used'] as const

/** The refusal for a decision that does not permit. @param now in milliseconds since 1970 */
export function denialBy(decision: Decision, now: number): DeniedError {
  const { status, review } = decision
  const isWithdrawn = status === 'rejected' && review?.status === 'withdrawn'
  const overMs = now - Date.parse(decision.expires_at)
  // By the clock of the decision point, it may run.
  if (status === 'authorized' && overMs >= 0)
    return denial('expired', decision, {
      cause: new ClockFault('had expired', overMs, 'arrived, so this clock is ahead'),
    })
  return denial(isWithdrawn ? 'withdrawn' : (BY_STATUS[status] ?? 'denied'), decision)
}

/** The advice of these decisions says more than the reason. Later advice is for programs that claim. */
const ADVISED: Partial<Readonly<Record<DeniedReason, DecisionStatus>>> = {
  denied: 'denied',
  review_required: 'awaiting_review',
}

export function denial(reason: DeniedReason, decision: Decision | null, fields: DeniedFields = {}): DeniedError {
  const isAdvised = decision !== null && ADVISED[reason] === decision.status
  const { id: decision_id, review = null } = decision ?? {}
  return new DeniedError(reason, {
    decision_id,
    advice: isAdvised ? decision.advice : null,
    comment: review?.comment,
    ...fields,
  })
}

/** Maps everything but a permitting decision to a refusal, including unknown errors. */
export function denialFor(error: unknown, decision: Decision | null): DeniedError {
  if (DeniedError.isInstance(error)) return error
  if (NotPermittedError.isInstance(error)) {
    const reason = error.reason === 'not_reviewed' ? 'already_claimed' : error.reason
    return denial(reason, decision, { cause: error, comment: error.comment })
  }
  if (UnavailableError.isInstance(error)) {
    const isWaiting = decision?.status === 'awaiting_review' && error.kind === 'timeout'
    return denial(isWaiting ? 'review_required' : 'unavailable', decision, { cause: error })
  }
  if (!ApiError.isInstance(error)) return denial('unavailable', decision, { cause: error })
  const { retryAfterSeconds } = error
  return denial(reasonOfProblem(error), decision, { cause: error, retryAfterSeconds })
}

/** What would have happened to an action that was not permitted. */
export function wouldBe({ reason }: DeniedError): Would {
  if (reason === 'review_required') return 'review'
  return reason === 'unavailable' ? 'unavailable' : 'deny'
}

function reasonOfProblem({ status, code }: ApiError): DeniedReason {
  const said = SAID.find((one) => one === code)
  return said ?? (status >= 500 || status === 429 ? 'unavailable' : 'refused')
}

/** The clocks of this machine and the decision point differ. */
export class ClockFault extends Error {
  /** @param then completes the message: `a decision <what> <seconds> before it <then>` */
  constructor(what: string, milliseconds: number, then: string) {
    const seconds = `${Math.round(milliseconds / 1000)} s`
    super(
      `By the clock of this machine a decision ${what} ${seconds} before it ${then}. Compare it with that of the decision point, and set both by NTP.`,
    )
  }
}
