/** One transition of a decision: read it, plan the change, and write it only if the decision has not changed since. */
import type { AuditType, Decision, JsonObject } from '@countersign/contract'
import type { Caller } from '../../../caller.js'
import type { MutationWriter } from '../../../mutation-writer.js'
import type { Clock } from '../../../ports/clock.js'
import type { DecisionWithRequest } from '../../../ports/store/decisions.js'
import type { StoredDecision } from '../../../ports/store/documents.js'
import { CallInProgressError } from '../../../ports/store/ledger.js'
import { ConflictError, type Store } from '../../../ports/store/store.js'
import { waitForCallInProgress } from '../../../state/call-in-progress.js'
import type { OpenReviews } from '../../../state/open-reviews.js'
import type { StoreMutex } from '../../../state/store-mutex.js'
import type { ChangingCall } from '../../idempotency.js'
import { compensate } from '../compensations.js'
import { findVisible } from '../get.js'
import { viewDecision } from '../view.js'
import { expiry, isOverdue } from './expiry.js'

export interface TransitionDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'decisions' | 'ledger'>
  readonly writer: MutationWriter
  readonly openReviews: OpenReviews
  /** Runs the transitions of one decision one at a time. */
  readonly mutex: StoreMutex
}

export interface TransitionCall extends ChangingCall {
  /** The id of the decision. */
  readonly id: string
  readonly requestId: string
}

/** What a transition may change. The decided facts never change; the request can be erased. */
type Mutable =
  | 'status'
  | 'expires_at'
  | 'budgets'
  | 'postings'
  | 'review'
  | 'outcome'
  | 'holder'
  | 'claimed_at'
  | 'redeemed'
  | 'resource'
  | 'request_hash'
  | 'request_erased_at'

export interface Transition {
  readonly type: AuditType
  readonly changes: Partial<Pick<StoredDecision, Mutable>>
  /** The reservation that the changed postings commit. */
  readonly reservation?: string
  /** The request is erased; nothing else changes. */
  readonly erases_request?: true
  readonly data: JsonObject
}

/**
 * Returns the transition that a decision needs; null when it is already in the wanted state. @throws DomainError when
 * it is not allowed
 */
type PlanTransition = (found: DecisionWithRequest, now: string) => Transition | null | Promise<Transition | null>

/**
 * Changes a decision whose agent the caller may speak for. When another writer was first, it plans the change again.
 *
 * @returns the decision as the caller may see it afterwards, without a permit
 * @throws DomainError not_found, and what `plan` throws
 * @throws StoreUnavailableError
 */
export async function transitionDecision(
  deps: TransitionDeps,
  call: TransitionCall,
  plan: PlanTransition,
): Promise<Decision> {
  return viewDecision(await applyTransition(deps, call, plan), call.caller, deps.clock.now().toISOString())
}

/**
 * Does the same as {@link transitionDecision} but returns the stored decision. Without a caller, the server itself
 * makes the change.
 */
export async function applyTransition(
  deps: TransitionDeps,
  { caller, id, idempotency }: Pick<TransitionCall, 'id' | 'idempotency'> & { readonly caller: Caller | null },
  plan: PlanTransition,
): Promise<StoredDecision> {
  const { decision, record } = await deps.mutex.run(id, async () => {
    for (let tries = 0; ; ) {
      const found = await findVisible(deps.store, caller, id)
      const now = deps.clock.now().toISOString()
      const record = idempotency?.recordOf(id, now) ?? null
      try {
        const transition = await plan(found, now)
        if (transition === null) return { decision: found.decision, record }
        // The log records every transition, so the expiry comes before a late settlement.
        if (isOverdue(found.decision, now)) {
          await writeTransition(deps, found.decision, expiry(found.decision), { caller: null, now, idempotency: null })
          continue
        }
        const decision = await writeTransition(deps, found.decision, transition, { caller, now, idempotency: record })
        caller?.recorded()
        return { decision, record: null }
      } catch (error) {
        if (error instanceof CallInProgressError) await waitForCallInProgress(++tries, error)
        else if (!(error instanceof ConflictError && error.conflict === 'version')) throw error
      }
    }
  })
  // Nothing changed, so no other transition needs to wait for this write.
  if (record !== null) await deps.writer.writeCall(record)
  return decision
}

/** The members that transitions change, as of then. With them the log tells every state that a decision had. */
function movedPart({ version, status, expires_at, budgets, review, outcome }: StoredDecision): JsonObject {
  return { version, status, expires_at, budgets, review, outcome }
}

/**
 * Writes a transition of a decision that was read before.
 *
 * @throws ConflictError when the decision has changed since
 * @throws StoreUnavailableError
 */
export async function writeTransition(
  deps: Pick<TransitionDeps, 'store' | 'writer' | 'openReviews'>,
  before: StoredDecision,
  { type, changes, reservation = undefined, erases_request = undefined, data }: Transition,
  {
    caller,
    now,
    idempotency,
  }: {
    /** Null: the server itself. */
    readonly caller: Caller | null
    readonly now: string
    readonly idempotency: Parameters<MutationWriter['writeCall']>[0] | null
  },
): Promise<StoredDecision> {
  const after = { ...before, ...changes, version: before.version + 1 }
  const entry = {
    at: now,
    type,
    actor: caller?.key.id ?? null,
    subject: before.id,
    agent_id: before.agent_id,
    trace_id: caller?.traceId ?? null,
    data: { ...(erases_request ? { version: after.version } : movedPart(after)), ...data },
  }
  const change = {
    kind: 'decision.update',
    decision: after,
    expected_version: before.version,
    reservation: reservation ?? null,
    ...(erases_request && { erases_request }),
  } as const
  try {
    await deps.writer.write({ entry, change, idempotency, holds: caller?.holds })
  } catch (error) {
    if (reservation !== undefined) await compensate([() => deps.store.ledger.release(reservation)], error)
    throw error
  }
  if (before.status === 'awaiting_review' && after.status !== 'awaiting_review') deps.openReviews.release(before)
  return after
}
