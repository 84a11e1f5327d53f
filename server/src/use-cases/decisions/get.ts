import type { DecisionDetail } from '@countersign/contract'
import { type Caller, hasScope, maySpeakFor } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { DecisionWithRequest } from '../../ports/store/decisions.js'
import type { Store } from '../../ports/store/store.js'
import type { LongPolls } from '../../state/long-polls.js'
import { type PermitDeps, presentPermit } from './permit.js'
import { presentStatus } from './status.js'
import { viewDecisionDetail } from './view.js'

export interface GetDecisionDeps extends PermitDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'decisions'>
  readonly longPolls: LongPolls
  /** False from the start of a shutdown: pending waits then end. */
  readonly isServing: () => boolean
}

/**
 * Returns one decision. The key that asked also gets the permit while the action may proceed.
 *
 * @throws DomainError not_found, insufficient_scope (a decision of another key without decisions:read)
 */
export async function getDecision(deps: GetDecisionDeps, caller: Caller, id: string): Promise<DecisionDetail> {
  const found = await findReadable(deps.store, caller, id)
  const now = deps.clock.now().toISOString()
  const permit = await presentPermit(deps, caller, found.decision, now)
  const view = viewDecisionDetail(found, caller, now)
  return permit === undefined ? view : { ...view, permit_token: permit }
}

export interface Patience {
  /** How long to wait for the decision to leave `awaiting_review`. */
  readonly waitMs: number
  /** False once the caller has disconnected. */
  readonly isWanted: () => boolean
}

/**
 * Waits until a decision no longer awaits a review, or the time is over. Afterwards, check whether the caller may read
 * it.
 *
 * @throws DomainError as {@link getDecision}
 */
export async function awaitReview(
  deps: GetDecisionDeps,
  caller: Caller,
  id: string,
  { waitMs, isWanted }: Patience,
): Promise<void> {
  const { decision } = await findReadable(deps.store, caller, id)
  if (presentStatus(decision, deps.clock.now().toISOString()) !== 'awaiting_review') return
  await deps.longPolls.wait({
    keyId: caller.key.id,
    decisionId: id,
    waitMs,
    isWanted: () => deps.isServing() && isWanted(),
  })
}

/** Whether the decision exists and still awaits its review. */
export async function isAwaitingReview(
  { store, clock }: Pick<GetDecisionDeps, 'store' | 'clock'>,
  id: string,
): Promise<boolean> {
  const found = await store.decisions.getStatus(id)
  return found !== null && presentStatus(found, clock.now().toISOString()) === 'awaiting_review'
}

async function findReadable(store: Pick<Store, 'decisions'>, caller: Caller, id: string): Promise<DecisionWithRequest> {
  const found = await findVisible(store, caller, id)
  if (found.decision.key_id !== caller.key.id && !hasScope(caller, 'decisions:read'))
    throw new DomainError('insufficient_scope', {
      detail: 'Reading a decision that another key requested needs the scope decisions:read.',
    })
  return found
}

/**
 * Finds a decision whose agent the caller may speak for. Other decisions do not exist for this caller. The server
 * itself (null) finds every decision.
 *
 * @throws DomainError not_found
 */
export async function findVisible(
  store: Pick<Store, 'decisions'>,
  caller: Caller | null,
  id: string,
): Promise<DecisionWithRequest> {
  const found = await store.decisions.get(id)
  if (found === null || (caller !== null && !maySpeakFor(caller, found.decision.agent_id)))
    throw new DomainError('not_found')
  return found
}
