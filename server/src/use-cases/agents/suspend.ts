import type { Agent } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent } from './change.js'

/** The kill switch: once this resolves, every request of the agent is denied. An existing suspension stays unchanged. */
export function suspendAgent(
  deps: ChangeAgentDeps,
  caller: Caller,
  id: string,
  reason: string | null,
  idempotency: IdempotencyDraft | null,
): Promise<Agent> {
  return changeAgent(
    deps,
    caller,
    id,
    (present, now) => ({
      type: 'agent.suspended',
      next: present.suspended === null ? { ...present, suspended: { at: now, by: caller.key.id, reason } } : null,
      data: { reason },
    }),
    idempotency && { draft: idempotency, status: 200 },
  )
}
