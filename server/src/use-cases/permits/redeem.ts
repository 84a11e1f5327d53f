import type { Decision } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { Clock } from '../../ports/clock.js'
import { ConflictError, type DecisionWithRequest, type Store } from '../../ports/store.js'
import type { RecordWriter } from '../../record-writer.js'
import type { Agents } from '../../state/agents.js'
import { findVisible } from '../decisions/get.js'
import { presentStatus } from '../decisions/status.js'
import { viewDecision } from '../decisions/view.js'
import type { IdempotencyDraft } from '../idempotency.js'

export interface RedeemDeps {
  readonly clock: Clock
  readonly agents: Agents
  readonly store: Pick<Store, 'findDecision'>
  readonly writer: RecordWriter
  /** The id of the decision whose permit this is. @throws DomainError permit_invalid */
  readonly verifyPermit: (token: string) => Promise<string>
}

/**
 * Uses a permit up: of all callers that present it, one gets the decision.
 *
 * @throws DomainError permit_invalid, not_found, permit_already_used, agent_suspended, invalid_transition
 *
 * Source: docs/permits.md "Redeem"
 */
export async function redeemPermit(
  deps: RedeemDeps,
  caller: Caller,
  token: string,
  idempotency: IdempotencyDraft | null,
): Promise<Decision> {
  const { decision } = await findByPermit(deps, caller, token)
  const { id } = decision
  const now = deps.clock.now().toISOString()
  if (decision.redeemed !== null) throw new DomainError('permit_already_used')
  if (deps.agents.isSuspended(decision.agent_id)) throw new DomainError('agent_suspended')
  const status = presentStatus(decision, now)
  if (status !== 'authorized')
    throw new DomainError('invalid_transition', {
      detail: `The decision is ${status}; its permit can't be redeemed.`,
      currentStatus: status,
    })
  const redeemed = { ...decision, version: decision.version + 1, redeemed: { by: caller.key.id, at: now } }
  try {
    await deps.writer.write({
      entry: {
        at: now,
        type: 'decision.redeemed',
        actor: caller.key.id,
        subject: id,
        agent_id: decision.agent_id,
        data: {},
      },
      change: () => ({ kind: 'decision.update', decision: redeemed, expected_version: decision.version }),
      idempotency: idempotency?.(id, 200, now) ?? null,
    })
  } catch (error) {
    // Another caller was first, or the decision moved: look at it as it is now.
    if (error instanceof ConflictError && error.conflict === 'version')
      return redeemPermit(deps, caller, token, idempotency)
    throw error
  }
  return viewDecision(redeemed, caller, now)
}

/**
 * The decision that a permit was made for.
 *
 * @throws DomainError permit_invalid, not_found
 */
export async function findByPermit(
  deps: Pick<RedeemDeps, 'store' | 'verifyPermit'>,
  caller: Caller,
  token: string,
): Promise<DecisionWithRequest> {
  return findVisible(deps.store, caller, await deps.verifyPermit(token))
}
