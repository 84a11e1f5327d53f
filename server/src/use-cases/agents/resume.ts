import type { Agent } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import type { IdempotencyDraft } from '../idempotency.js'
import { type ChangeAgentDeps, changeAgent } from './change.js'

/** Lifts a suspension. Does nothing to an agent that is not suspended. */
export function resumeAgent(
  deps: ChangeAgentDeps,
  caller: Caller,
  id: string,
  idempotency: IdempotencyDraft | null,
): Promise<Agent> {
  return changeAgent(
    deps,
    caller,
    id,
    (present) => ({
      type: 'agent.resumed',
      next: present.suspended === null ? null : { ...present, suspended: null },
      data: {},
    }),
    idempotency && { draft: idempotency, status: 200 },
  )
}
