import type { StoredDecision } from '@countersign/store-port/documents'
import { presentStatus, wasAuthorized } from '../status.js'
import { committed, settleWithoutOutcome } from './settlement.js'

/** Whether the clock has ended the decision and nobody has written it down yet. */
export function isOverdue(decision: StoredDecision, now: string): boolean {
  return decision.status !== 'expired' && presentStatus(decision, now) === 'expired'
}

/** The transition that the clock makes. */
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
