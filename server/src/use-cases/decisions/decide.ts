import type { Decision, DecisionRequest } from '@countersign/contract'
import { applyBudgetViolation, type Evaluation } from '@countersign/engine'
import { assertMaySpeakFor } from '../../caller.js'
import type { Clock } from '../../ports/clock.js'
import type { Ids } from '../../ports/ids.js'
import type { Metrics } from '../../ports/metrics.js'
import type { OpenReview } from '../../ports/store/decisions.js'
import type { RequestSpan } from '../../ports/tracer.js'
import type { Policies } from '../../state/policies.js'
import { callNameOf } from '../idempotency.js'
import { type Compensation, compensate } from './compensations.js'
import { type EvaluateDeps, evaluateSafely } from './evaluate-safely.js'
import { factsOf, toEngineRequest } from './facts.js'
import { createdEntry, endOf, type Lifetimes, newDecision } from './new-decision.js'
import { type PermitDeps, presentPermit } from './permit.js'
import { reserveBudgets } from './reserve-budgets.js'
import type { ExpireDeps } from './transitions/expire.js'
import type { TransitionCall } from './transitions/transition.js'
import { viewDecision } from './view.js'

export interface DecideDeps extends PermitDeps, EvaluateDeps, ExpireDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly metrics: Pick<Metrics, 'decided'>
  readonly policies: Policies
  readonly lifetimes: Lifetimes
}

export interface DecideCall extends Omit<TransitionCall, 'id'> {
  /** Gets the steps. */
  readonly span: RequestSpan | null
}

export interface DecideOutput {
  readonly decision: Decision
  /** Milliseconds that each step took. */
  readonly timings: { readonly eval: number; readonly reserve: number; readonly sign: number; readonly store: number }
}

/**
 * Evaluates a request, reserves what it may spend and records the decision. Resolves only after the decision, its
 * reservation and its audit entry are durable. The permit is signed during the write and is returned only if the write
 * succeeds.
 *
 * @throws DomainError agent_not_allowed
 * @throws ConflictError idempotency_key: the same call was made before
 * @throws CallInProgressError a copy of the same call has reserved what this one needs
 * @throws StoreUnavailableError nothing was permitted
 *
 * Source: docs/decisions.md
 */
export async function decide(
  deps: DecideDeps,
  call: DecideCall,
  asked: DecisionRequest,
  requestHash: string,
): Promise<DecideOutput> {
  const { caller, requestId, span } = call
  assertMaySpeakFor(caller, asked.agent_id)
  const evaluatedAt = deps.clock.now()
  const now = evaluatedAt.toISOString()
  const id = deps.ids.next('dec')
  const request = toEngineRequest(asked)
  const agent = deps.agents.find(request.agent_id)
  const { set, policySet } = deps.policies

  const started = performance.now()
  const evaluated = evaluateSafely(deps, requestId, set, request, factsOf(agent, evaluatedAt))
  const evaluatedMs = performance.now()
  span?.step('evaluate', started)
  const latencyMs = Math.max(0.001, Math.round((evaluatedMs - started) * 1000) / 1000)
  const idempotency = call.idempotency?.recordOf(id, now) ?? null
  const callName = idempotency === null ? id : callNameOf(idempotency)

  const mayTake = evaluated.budgets.length > 0 || evaluated.evaluation.effect === 'review'
  if (mayTake) await call.idempotency?.assertNew()

  const taken: Compensation[] = []
  let writing: number | null = null
  try {
    const reserved = await reserveBudgets(deps, evaluated.budgets, { id, version: 0, call: callName, mayExceed: false })
    const { violation, reservation } = reserved
    if (reservation !== null) taken.push(() => deps.store.ledger.release(reservation))
    const reserveMs = performance.now() - evaluatedMs
    if (evaluated.budgets.length > 0) span?.step('reserve', evaluatedMs)

    let { evaluation } = evaluated
    if (violation !== null) evaluation = applyBudgetViolation(evaluation, violation)
    if (evaluation.effect === 'review') {
      const expires_at = endOf('review', evaluatedAt, deps.lifetimes)
      const slot = { id, agent_id: request.agent_id, key_id: caller.key.id, expires_at }
      if (await deps.openReviews.take(slot, now)) taken.push((outcome) => releaseSlot(deps, slot, outcome))
      else evaluation = tooManyReviews(evaluation)
    }

    const known = {
      id,
      policy_set: policySet,
      latency_ms: latencyMs,
      evaluated_at: now,
      expires_at: endOf(evaluation.effect, evaluatedAt, deps.lifetimes),
      request_hash: requestHash,
      key_id: caller.key.id,
      request_id: requestId,
      ...(caller.traceId !== null && { trace_id: caller.traceId }),
      agent_revision: agent?.registration?.revision ?? null,
    }
    const decision = newDecision(known, request, evaluation, reserved, asked.holder ?? null)
    const salt = deps.ids.salt()
    const draft = {
      entry: createdEntry(decision, reserved.accounts, requestHash, salt),
      change: { kind: 'decision.create', decision, request: { context: request.context, salt }, reservation } as const,
      idempotency,
      holds: caller.holds,
    }
    let signMs = 0
    writing = performance.now()
    const { beside, storeMs } = await deps.writer.write(draft, async (_, { decision }) => {
      const signing = performance.now()
      const token = await presentPermit(deps, caller, decision, now)
      signMs = performance.now() - signing
      if (token !== undefined) span?.step('sign', signing)
      return viewDecision(decision, caller, now, token)
    })
    span?.step('commit', writing)
    span?.decided(beside)
    caller.recorded()
    deps.metrics.decided(evaluation.effect, evaluation.reason_code, latencyMs)
    return {
      decision: beside,
      timings: { eval: latencyMs, reserve: reserveMs, sign: signMs, store: storeMs },
    }
  } catch (error) {
    if (writing !== null) span?.step('commit', writing, true)
    await compensate(taken, error)
    throw error
  }
}

/**
 * Keeps the slot of a review that may be durable, even when the store cannot tell: admitting too few reviews is safer
 * than admitting too many.
 */
async function releaseSlot(deps: DecideDeps, slot: OpenReview, outcome: Parameters<Compensation>[0]): Promise<void> {
  if (outcome === 'unknown') {
    const found = await deps.store.decisions.get(slot.id).catch(() => 'unknown')
    if (found !== null) return
  }
  deps.openReviews.release(slot)
}

function tooManyReviews(evaluation: Evaluation): Evaluation {
  return {
    ...evaluation,
    effect: 'deny',
    reason_code: 'too_many_reviews',
    reason: 'Too many decisions of this agent or API key are waiting for review.',
  }
}
