import type { Review } from './decision.js'

/** The review of a decision that still waits for an answer. */
export function waitingReview(requestedAt: string, expiresAt: string): Review {
  return {
    status: 'waiting',
    requested_at: requestedAt,
    expires_at: expiresAt,
    decided_by: null,
    decided_at: null,
    comment: null,
    self_approved: null,
    policy_id: null,
    policy_revision: null,
    rule: null,
  }
}
