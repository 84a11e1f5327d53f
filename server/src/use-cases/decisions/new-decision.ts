import { detailsHash, saltedHash } from '@countersign/audit-log'
import type { DecisionStatus, Effect, JsonArray } from '@countersign/contract'
import { waitingReview } from '@countersign/contract/waiting-review'
import { adviseOn, type EngineRequest, type Evaluation } from '@countersign/engine'
import type { MutationDraft } from '../../mutation-writer.js'
import type { StoredDecision } from '../../ports/store/documents.js'
import type { ReservedBudgets } from './reserve-budgets.js'

export interface Lifetimes {
  readonly decisionSeconds: number
  readonly reviewSeconds: number
  /** How long an approval stays valid without a claim. */
  readonly approvalSeconds: number
}

/** A decision before its audit entry has a position in the log. */
type NewDecision = Omit<StoredDecision, 'audit'>

/** The facts of a decision besides its request and its evaluation. */
type Known = Pick<
  NewDecision,
  | 'id'
  | 'policy_set'
  | 'latency_ms'
  | 'evaluated_at'
  | 'expires_at'
  | 'request_hash'
  | 'key_id'
  | 'request_id'
  | 'trace_id'
  | 'agent_revision'
>

/**
 * Builds the decision that follows from an evaluation. These facts never change; they also set the first status.
 *
 * @param holder the name of the job that asks; null when it gave none
 */
export function newDecision(
  known: Known,
  request: EngineRequest,
  evaluation: Evaluation,
  { budgets, postings }: Pick<ReservedBudgets, 'budgets' | 'postings'>,
  holder: string | null,
): NewDecision {
  const { effect } = evaluation
  // Each member is written out: a spread before them takes longer than all of them.
  const decision: NewDecision = {
    id: known.id,
    policy_set: known.policy_set,
    latency_ms: known.latency_ms,
    evaluated_at: known.evaluated_at,
    expires_at: known.expires_at,
    request_hash: known.request_hash,
    key_id: known.key_id,
    request_id: known.request_id,
    agent_revision: known.agent_revision,
    version: 1,
    effect,
    status: FIRST_STATUS[effect],
    reason: evaluation.reason,
    reason_code: evaluation.reason_code,
    policy_id: evaluation.policy_id,
    policy_revision: evaluation.policy_revision,
    rule: evaluation.rule,
    agent_id: request.agent_id,
    action: request.action,
    resource: request.resource,
    budgets,
    postings,
    review: effect === 'review' ? waitingReview(known.evaluated_at, known.expires_at) : null,
    outcome: null,
    advice: adviseOn(evaluation, request, known.id),
    shadow: evaluation.shadow,
    holder: effect === 'allow' || effect === 'log' ? { name: holder } : null,
    claimed_at: null,
    redeemed: null,
  }
  return known.trace_id === undefined ? decision : { ...decision, trace_id: known.trace_id }
}

/** When a decision of this effect expires. A review has its own, longer lifetime. */
export function endOf(effect: Effect, evaluatedAt: Date, lifetimes: Lifetimes): string {
  const seconds = effect === 'review' ? lifetimes.reviewSeconds : lifetimes.decisionSeconds
  return new Date(evaluatedAt.getTime() + seconds * 1000).toISOString()
}

/**
 * The audit entry of a new decision. It contains only a salted hash of the request, and one hash of everything that the
 * entry does not contain itself, because every decision has to write this entry.
 */
export function createdEntry(
  decision: NewDecision,
  accounts: JsonArray,
  requestHash: string,
  salt: string,
): MutationDraft['entry'] {
  return {
    at: decision.evaluated_at,
    type: 'decision.created',
    actor: decision.key_id,
    subject: decision.id,
    agent_id: decision.agent_id,
    trace_id: decision.trace_id ?? null,
    data: {
      version: decision.version,
      effect: decision.effect,
      status: decision.status,
      reason_code: decision.reason_code,
      policy_id: decision.policy_id,
      policy_revision: decision.policy_revision,
      policy_set: decision.policy_set,
      rule: decision.rule,
      action: decision.action,
      latency_ms: decision.latency_ms,
      budgets: decision.budgets,
      ...(accounts.length > 0 && { accounts }),
      request: saltedHash(salt, requestHash),
      details: detailsHash(decision),
      expires_at: decision.expires_at,
    },
  }
}

const FIRST_STATUS: Readonly<Record<Effect, DecisionStatus>> = {
  allow: 'authorized',
  log: 'authorized',
  deny: 'denied',
  review: 'awaiting_review',
}
