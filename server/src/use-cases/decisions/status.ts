import type { DecisionStatus } from '@countersign/contract'
import type { StoredDecision } from '../../ports/documents.js'

const OPEN: ReadonlySet<DecisionStatus> = new Set(['awaiting_review', 'approved', 'authorized'])

/** The status as of `now`: what is still open at `expires_at` is over at that very moment. */
export function presentStatus(decision: StoredDecision, now: string): DecisionStatus {
  return OPEN.has(decision.status) && decision.expires_at <= now ? 'expired' : decision.status
}
