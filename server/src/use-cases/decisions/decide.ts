import type { Decision, DecisionRequest } from '@countersign/contract'
import { type Evaluation, refuseByBudget } from '@countersign/engine'
import type { AuditPosition, HeldRequest, IdempotencyRecord } from '@countersign/store-port/documents'
import { type OpenReview, StoreUnavailableError } from '@countersign/store-port/store'
import { assertMaySpeakFor, type Caller } from '../../caller.js'
import type { Clock } from '../../ports/clock.js'
import type { Ids } from '../../ports/ids.js'
import type { Metrics } from '../../ports/metrics.js'
import type { Policies } from '../../state/policies.js'
import { callNameOf, type IdempotencyDraft } from '../idempotency.js'
import { type EvaluateDeps, evaluateSafely } from './evaluate-safely.js'
import { factsOf, toEngineRequest } from './facts.js'
import {
  createdEntry,
  type Evaluated,
  endOf,
  holdRequest,
  type Lifetimes,
  newDecision,
  type UnrecordedDecision,
} from './new-decision.js'
import { type PermitDeps, presentPermit } from './permit.js'
import { type ReservedBudgets, reserveBudgets } from './reserve-budgets.js'
import type { ExpireDeps } from './transitions/expire.js'
import { releaseReservation } from './transitions/transition.js'
import { viewDecision } from './view.js'

export interface DecideDeps extends PermitDeps, EvaluateDeps, ExpireDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly metrics: Pick<Metrics, 'decided'>
  readonly policies: Policies
  readonly lifetimes: Lifetimes
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
  readonly timings: { readonly eval: number; readonly reserve: number; readonly sign: number; readonly store: number }
}

/**
 * Evaluates a request, reserves what it may spend and records the answer. It resolves only after the decision, its
 * reservation and its audit entry are durable; the permit is signed beside the write and leaves with the answer or not at
 * all.
 *
 * @throws DomainError agent_not_allowed
 * @throws CallInProgressError the same call has reserved what this one would need
 * @throws StoreUnavailableError nothing was permitted
 *
 * Source: docs/decisions.md
 */
export async function decide(deps: DecideDeps, caller: Caller, input: DecideInput): Promise<DecideOutput> {
  assertMaySpeakFor(caller, input.request.agent_id)
  const evaluatedAt = deps.clock.now()
  const id = deps.ids.next('dec')
  const request = toEngineRequest(input.request)
  const agent = deps.agents.find(request.agent_id)
  const { set, policySet } = deps.policies

  const started = performance.now()
  const evaluated = evaluateSafely(deps, input.requestId, set, request, factsOf(agent, evaluatedAt))
  const evaluatedMs = performance.now()
  const idempotency = input.idempotency?.(id, 200, evaluatedAt.toISOString()) ?? null
  const call = idempotency === null ? id : callNameOf(idempotency)
  const reserved = await reserveBudgets(deps, evaluated.asked, { id, version: 0, call, exceed: false })
  const reserveMs = performance.now() - evaluatedMs
  const latencyMs = Math.max(0.001, Math.round((evaluatedMs - started) * 1000) / 1000)

  try {
    const made = { id, evaluatedAt, latencyMs, policySet, agent, request, reserved, idempotency }
    const { decision, signMs, storeMs } = await recordEvaluation(deps, caller, input, evaluated.evaluation, made)
    return { decision, timings: { eval: latencyMs, reserve: reserveMs, sign: signMs, store: storeMs } }
  } catch (error) {
    if (reserved.reservation !== null) await releaseReservation(deps.store.ledger, reserved.reservation, error)
    throw error
  }
}

/** Makes the decision that follows from the evaluation and from what the budgets said, and records it. */
async function recordEvaluation(
  deps: DecideDeps,
  caller: Caller,
  { request: { holder = null }, requestHash, requestId }: DecideInput,
  evaluated: Evaluation,
  made: Pick<Evaluated, 'id' | 'evaluatedAt' | 'latencyMs' | 'policySet' | 'agent' | 'request'> & {
    readonly reserved: ReservedBudgets
    readonly idempotency: IdempotencyRecord | null
  },
): Promise<Recorded> {
  const { id, evaluatedAt, latencyMs, request, reserved, idempotency } = made
  const budgeted = reserved.refusal === null ? evaluated : refuseByBudget(evaluated, reserved.refusal)
  const place = {
    id,
    agent_id: request.agent_id,
    key_id: caller.key.id,
    expires_at: endOf('review', evaluatedAt, deps.lifetimes),
  }
  const hasPlace = budgeted.effect === 'review' && (await deps.openReviews.take(place, evaluatedAt.toISOString()))
  try {
    const evaluation = budgeted.effect === 'review' && !hasPlace ? tooManyReviews(budgeted) : budgeted
    const asked = { requestHash, requestId, keyId: caller.key.id, holder: holder ?? null }
    const decision = newDecision({ ...made, ...asked, evaluation }, deps.lifetimes)
    const recorded = await record(deps, caller, decision, holdRequest(request), reserved, idempotency)
    deps.metrics.decided(evaluation.effect, evaluation.reason_code, latencyMs)
    return recorded
  } catch (error) {
    if (hasPlace) void releaseUnlessWritten(deps, place, error)
    throw error
  }
}

interface Recorded {
  readonly decision: Decision
  readonly signMs: number
  readonly storeMs: number
}

/** Makes the decision durable and signs its permit meanwhile. */
async function record(
  deps: DecideDeps,
  caller: Caller,
  decision: UnrecordedDecision,
  request: HeldRequest,
  { reservation }: ReservedBudgets,
  idempotency: IdempotencyRecord | null,
): Promise<Recorded> {
  const now = decision.evaluated_at
  const draft = {
    entry: createdEntry(decision, request),
    change: (audit: AuditPosition) =>
      ({ kind: 'decision.create', decision: { ...decision, audit }, request, reservation }) as const,
    idempotency,
    holds: caller.holds,
  }
  let signMs = 0
  const written = await deps.writer.write(draft, async (audit) => {
    const signing = performance.now()
    const token = await presentPermit(deps, caller, { ...decision, audit }, now)
    signMs = performance.now() - signing
    return token
  })
  caller.recorded()
  const view = viewDecision({ ...decision, audit: written.position }, caller, now)
  const answer = written.beside === undefined ? view : { ...view, permit_token: written.beside }
  return { decision: answer, signMs, storeMs: written.storeMs }
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

function tooManyReviews(evaluation: Evaluation): Evaluation {
  return {
    ...evaluation,
    effect: 'deny',
    reason_code: 'too_many_reviews',
    reason: 'Too many decisions of this agent or API key await a review.',
  }
}
