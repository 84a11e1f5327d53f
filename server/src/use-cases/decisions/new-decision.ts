import { hash } from 'node:crypto'
import type { DecisionStatus, Effect, Review } from '@countersign/contract'
import { adviseOn, type EngineRequest, type Evaluation } from '@countersign/engine'
import type { AuditPosition, StoredAgent, StoredDecision } from '@countersign/store-port/documents'
import type { EntryDraft } from '../../mutation-writer.js'
import type { ReservedBudgets } from './reserve-budgets.js'

export interface Lifetimes {
  readonly decisionSeconds: number
  readonly reviewSeconds: number
  /** Of an approval, until somebody claims it. */
  readonly approvalSeconds: number
}

interface Received {
  readonly request: EngineRequest
  readonly requestHash: string
  readonly requestId: string
  readonly keyId: string
  /** The name of the job that asks; null when it gave none. */
  readonly holder: string | null
  readonly agent: StoredAgent | undefined
}

export interface Evaluated {
  readonly id: string
  readonly received: Received
  readonly evaluation: Evaluation
  readonly at: string
  readonly expiresAt: string
  readonly latencyMs: number
  readonly policySet: number
  readonly reserved: Pick<ReservedBudgets, 'budgets' | 'postings' | 'accounts'>
}

/** The decision that follows from an evaluation. What was decided never changes; the first status follows from it. */
export function newDecision(evaluated: Evaluated, audit: AuditPosition): StoredDecision {
  const { id, received, evaluation, at, expiresAt } = evaluated
  const { request } = received
  const { effect } = evaluation
  return {
    id,
    version: 1,
    effect,
    status: FIRST_STATUS[effect],
    reason: evaluation.reason,
    reason_code: evaluation.reason_code,
    policy_id: evaluation.policy_id,
    policy_revision: evaluation.policy_revision,
    policy_set: evaluated.policySet,
    rule: evaluation.rule,
    agent_id: request.agent_id,
    action: request.action,
    resource: request.resource,
    latency_ms: evaluated.latencyMs,
    evaluated_at: at,
    expires_at: expiresAt,
    budgets: evaluated.reserved.budgets,
    postings: evaluated.reserved.postings,
    review: effect === 'review' ? waitingReview(at, expiresAt) : null,
    outcome: null,
    advice: adviseOn(evaluation, request, id),
    shadow: evaluation.shadow,
    request_hash: received.requestHash,
    key_id: received.keyId,
    request_id: received.requestId,
    holder: effect === 'allow' || effect === 'log' ? { name: received.holder } : null,
    claimed_at: null,
    agent_revision: received.agent?.registration?.revision ?? null,
    redeemed: null,
    audit,
  }
}

/** When a decision of this effect ends. A review has its own, longer lifetime. */
export function endOf(effect: Effect, evaluatedAt: Date, lifetimes: Lifetimes): string {
  const seconds = effect === 'review' ? lifetimes.reviewSeconds : lifetimes.decisionSeconds
  return new Date(evaluatedAt.getTime() + seconds * 1000).toISOString()
}

/** The audit entry of a new decision. Of the request it holds only a salted hash. */
export function createdEntry(evaluated: Evaluated, salt: string): EntryDraft {
  const { evaluation, received } = evaluated
  return {
    at: evaluated.at,
    type: 'decision.created',
    actor: received.keyId,
    subject: evaluated.id,
    agent_id: received.request.agent_id,
    data: {
      version: 1,
      effect: evaluation.effect,
      status: FIRST_STATUS[evaluation.effect],
      reason_code: evaluation.reason_code,
      policy_id: evaluation.policy_id,
      policy_revision: evaluation.policy_revision,
      policy_set: evaluated.policySet,
      rule: evaluation.rule,
      action: received.request.action,
      latency_ms: evaluated.latencyMs,
      budgets: evaluated.reserved.budgets,
      ...(evaluated.reserved.accounts.length > 0 && { accounts: evaluated.reserved.accounts }),
      request: saltedHash(salt, received.requestHash),
      expires_at: evaluated.expiresAt,
    },
  }
}

const FIRST_STATUS: Readonly<Record<Effect, DecisionStatus>> = {
  allow: 'authorized',
  log: 'authorized',
  deny: 'denied',
  review: 'awaiting_review',
}

/** The review of a decision that nobody has answered yet. */
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

/** SHA-256 of the salt and the request hash. The log proves the request only to somebody who has the salt. */
function saltedHash(salt: string, requestHash: string): string {
  const salted = Buffer.concat([Buffer.from(salt, 'base64url'), Buffer.from(requestHash, 'base64url')])
  return hash('sha256', salted, 'base64url')
}
