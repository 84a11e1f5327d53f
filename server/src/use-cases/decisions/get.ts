import { setTimeout as pause } from 'node:timers/promises'
import type { DecisionDetail } from '@countersign/contract'
import { type Caller, hasScope, maySpeakFor } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import type { DecisionWithRequest, Store } from '../../ports/store.js'
import { type PermitDeps, presentPermit } from './permit.js'
import { presentStatus } from './status.js'
import { viewDecisionDetail } from './view.js'

export interface GetDecisionDeps extends PermitDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'findDecision'>
  /** False from the first moment of a shutdown on: then nobody is kept waiting. */
  readonly isServing: () => boolean
}

/** It looks into the store again and again, and not only at its own moves, so that it sees what any process wrote. */
const LOOK_EVERY_MS = 250

/**
 * One decision; with its permit for the key that asked, while it may proceed.
 *
 * @param waitSeconds how long to wait for it to leave `awaiting_review`
 * @throws DomainError not_found, insufficient_scope (a decision of another key without decisions:read)
 */
export async function getDecision(
  deps: GetDecisionDeps,
  caller: Caller,
  id: string,
  waitSeconds: number,
): Promise<DecisionDetail> {
  const until = performance.now() + waitSeconds * 1000
  for (;;) {
    const found = await findReadable(deps.store, caller, id)
    const now = deps.clock.now().toISOString()
    const leftMs = until - performance.now()
    if (presentStatus(found.decision, now) !== 'awaiting_review' || leftMs <= 0 || !deps.isServing()) {
      const permit = await presentPermit(deps, caller, found.decision, now)
      const view = viewDecisionDetail(found, caller, now)
      return permit === undefined ? view : { ...view, permit_token: permit }
    }
    await pause(Math.min(LOOK_EVERY_MS, leftMs))
  }
}

async function findReadable(
  store: Pick<Store, 'findDecision'>,
  caller: Caller,
  id: string,
): Promise<DecisionWithRequest> {
  const found = await findVisible(store, caller, id)
  if (found.decision.key_id !== caller.key.id && !hasScope(caller, 'decisions:read'))
    throw new DomainError('insufficient_scope', {
      detail: 'A decision that another key asked for needs the scope decisions:read.',
    })
  return found
}

/**
 * A decision of an agent that the caller may speak for; any other does not exist for it.
 *
 * @throws DomainError not_found
 */
export async function findVisible(
  store: Pick<Store, 'findDecision'>,
  caller: Caller,
  id: string,
): Promise<DecisionWithRequest> {
  const found = await store.findDecision(id)
  if (found === null || !maySpeakFor(caller, found.decision.agent_id)) throw new DomainError('not_found')
  return found
}
