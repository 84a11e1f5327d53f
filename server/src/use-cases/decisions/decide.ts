import { createHash, randomBytes } from 'node:crypto'
import type { Decision, DecisionRequest, DecisionStatus, Effect, Review } from '@countersign/contract'
import { adviseOn, type Evaluation } from '@countersign/engine'
import { assertMaySpeakFor, type Caller } from '../../caller.js'
import type { Clock } from '../../ports/clock.js'
import type { HeldRequest, StoredDecision } from '../../ports/documents.js'
import type { Ids } from '../../ports/ids.js'
import type { Metrics } from '../../ports/metrics.js'
import { type OpenReview, type Store, StoreUnavailableError } from '../../ports/store.js'
import type { EntryDraft, RecordWriter } from '../../record-writer.js'
import type { OpenReviews } from '../../state/open-reviews.js'
import type { Policies } from '../../state/policies.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { type EvaluateDeps, evaluateSafely } from './evaluate-safely.js'
import { factsOf, toEngineRequest } from './facts.js'
import { type PermitDeps, presentPermit } from './permit.js'
import { viewDecision } from './view.js'

export interface DecideDeps extends PermitDeps, EvaluateDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly metrics: Pick<Metrics, 'decided'>
  readonly policies: Policies
  readonly openReviews: OpenReviews
  readonly store: Pick<Store, 'findDecision'>
  readonly writer: RecordWriter
  readonly lifetimes: { readonly decisionSeconds: number; readonly reviewSeconds: number }
}

export interface DecideInput {
  readonly request: DecisionRequest
  readonly requestHash: string
  readonly requestId: string
  readonly idempotency: IdempotencyDraft | null
}

export interface DecideOutput {
  readonly decision: Decision
  /** Milliseconds of each step. */
  readonly timings: { readonly eval: number; readonly sign: number; readonly store: number }
}

/**
 * Evaluates a request and records the answer. It resolves only after the decision and its audit entry are durable; the
 * permit is signed beside the write and leaves with the answer or not at all.
 *
 * @throws DomainError agent_not_allowed
 * @throws StoreUnavailableError nothing was permitted
 *
 * Source: docs/decisions.md
 */
export async function decide(deps: DecideDeps, caller: Caller, input: DecideInput): Promise<DecideOutput> {
  assertMaySpeakFor(caller, input.request.agent_id)
  const evaluatedAt = deps.clock.now()
  const now = evaluatedAt.toISOString()
  const id = deps.ids.next('dec')
  const request = toEngineRequest(input.request)
  const agent = deps.agents.find(request.agent_id)
  const policySet = deps.policies.policySet

  const started = performance.now()
  const evaluated = evaluateSafely(deps, input.requestId, deps.policies.set, request, factsOf(agent, evaluatedAt))
  const latencyMs = Math.max(0.001, Math.round((performance.now() - started) * 1000) / 1000)

  const reviewUntil = after(evaluatedAt, deps.lifetimes.reviewSeconds)
  const place = { id, agent_id: request.agent_id, key_id: caller.key.id, expires_at: reviewUntil }
  const hasPlace = evaluated.effect === 'review' && deps.openReviews.take(place, now)
  const evaluation = evaluated.effect === 'review' && !hasPlace ? tooManyReviews(evaluated) : evaluated

  const mayRun = evaluation.effect === 'allow' || evaluation.effect === 'log'
  const unrecorded: Omit<StoredDecision, 'audit'> = {
    id,
    version: 1,
    effect: evaluation.effect,
    status: FIRST_STATUS[evaluation.effect],
    reason: evaluation.reason,
    reason_code: evaluation.reason_code,
    policy_id: evaluation.policy_id,
    policy_revision: evaluation.policy_revision,
    policy_set: policySet,
    rule: evaluation.rule,
    agent_id: request.agent_id,
    action: request.action,
    resource: request.resource,
    latency_ms: latencyMs,
    evaluated_at: now,
    expires_at: hasPlace ? reviewUntil : after(evaluatedAt, deps.lifetimes.decisionSeconds),
    budgets: [],
    review: hasPlace ? waitingReview(now, reviewUntil) : null,
    outcome: null,
    advice: adviseOn(evaluation, request, id),
    shadow: evaluation.shadow,
    request_hash: input.requestHash,
    key_id: caller.key.id,
    request_id: input.requestId,
    holder: mayRun ? { name: input.request.holder ?? null } : null,
    agent_revision: agent?.registration?.revision ?? null,
    redeemed: null,
  }
  const held: HeldRequest = { context: request.context, salt: randomBytes(16).toString('base64url') }
  const draft = {
    entry: createdEntry(unrecorded, held),
    change: (audit: StoredDecision['audit']) =>
      ({ kind: 'decision.create', decision: { ...unrecorded, audit }, request: held }) as const,
    idempotency: input.idempotency?.(id, 200, now) ?? null,
  }
  let signMs = 0
  const sign = async (audit: StoredDecision['audit']) => {
    const signing = performance.now()
    const token = await presentPermit(deps, caller, { ...unrecorded, audit }, now)
    signMs = performance.now() - signing
    return token
  }
  const written = await deps.writer.write(draft, sign).catch((error: unknown) => {
    if (hasPlace) void releaseUnlessWritten(deps, place, error)
    throw error
  })
  deps.metrics.decided(evaluation.effect, evaluation.reason_code, latencyMs)
  const decision = viewDecision({ ...unrecorded, audit: written.position }, caller, now)
  return {
    decision: written.beside === undefined ? decision : { ...decision, permit_token: written.beside },
    timings: { eval: latencyMs, sign: signMs, store: written.storeMs },
  }
}

/** After a failure the review may have become durable all the same: then its place stays taken until its time is over. */
async function releaseUnlessWritten(deps: DecideDeps, place: OpenReview, failure: unknown): Promise<void> {
  if (failure instanceof StoreUnavailableError) {
    await failure.settled
    // When the store cannot tell, the place stays taken: too few reviews are better than too many.
    const found = await deps.store.findDecision(place.id).catch(() => 'unknown')
    if (found !== null) return
  }
  deps.openReviews.release(place)
}

const FIRST_STATUS: Readonly<Record<Effect, DecisionStatus>> = {
  allow: 'authorized',
  log: 'authorized',
  deny: 'denied',
  review: 'awaiting_review',
}

function tooManyReviews(evaluation: Evaluation): Evaluation {
  return {
    ...evaluation,
    effect: 'deny',
    reason_code: 'too_many_reviews',
    reason: 'Too many decisions of this agent or API key await a review.',
  }
}

function waitingReview(requestedAt: string, expiresAt: string): Review {
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

function createdEntry(decision: Omit<StoredDecision, 'audit'>, held: HeldRequest): EntryDraft {
  return {
    at: decision.evaluated_at,
    type: 'decision.created',
    actor: decision.key_id,
    subject: decision.id,
    agent_id: decision.agent_id,
    data: {
      effect: decision.effect,
      status: decision.status,
      reason_code: decision.reason_code,
      policy_id: decision.policy_id,
      policy_revision: decision.policy_revision,
      policy_set: decision.policy_set,
      rule: decision.rule,
      action: decision.action,
      budgets: [],
      request: saltedHash(held.salt, decision.request_hash),
      expires_at: decision.expires_at,
    },
  }
}

/** SHA-256 of the salt and the request hash: the log proves what was asked to whoever is shown the salt, and to nobody else. */
function saltedHash(salt: string, requestHash: string): string {
  return createHash('sha256')
    .update(Buffer.from(salt, 'base64url'))
    .update(Buffer.from(requestHash, 'base64url'))
    .digest('base64url')
}

function after(start: Date, seconds: number): string {
  return new Date(start.getTime() + seconds * 1000).toISOString()
}
