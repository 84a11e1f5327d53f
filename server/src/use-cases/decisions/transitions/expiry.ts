import type { StoredDecision } from '../../../ports/store/documents.js'
import { presentStatus, wasAuthorized } from '../status.js'
import { committed, settleWithoutOutcome } from './settlement.js'

/** Whether the decision has expired and the expiry is not recorded yet. */
export function isOverdue(decision: StoredDecision, now: string): boolean {
  return decision.status !== 'expired' && presentStatus(decision, now) === 'expired'
}

/** The transition that records an expiry. */
export function expiry(decision: StoredDecision) {
  const { review } = decision
  const postings = settleWithoutOutcome(decision)
  return {
    type: 'decision.expired' as const,
    changes: {
      status: 'expired' as const,
      postings,
      review: review === null || wasAuthorized(decision) ? review : { ...review, status: 'expired' as const },
    },
    data: { expires_at: decision.expires_at, committed: committed(decision, postings) },
  }
}
