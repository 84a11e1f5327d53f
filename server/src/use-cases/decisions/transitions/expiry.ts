import type { StoredDecision } from '@countersign/store-port/documents'
import { presentStatus, wasAuthorized } from '../status.js'
import { committed, settleUnsaid } from './settlement.js'
import type { Transition } from './transition.js'

/** Whether the clock has ended the decision and nobody has written it down yet. */
export function isOverdue(decision: StoredDecision, now: string): boolean {
  return decision.status !== 'expired' && presentStatus(decision, now) === 'expired'
}

/** What the clock did. */
export function expiry(decision: StoredDecision): Transition {
  const { review } = decision
  const postings = settleUnsaid(decision)
  return {
    type: 'decision.expired',
    changes: {
      status: 'expired',
      postings,
      review: review === null || wasAuthorized(decision) ? review : { ...review, status: 'expired' },
    },
    data: { expires_at: decision.expires_at, committed: committed(decision, postings) },
  }
}
