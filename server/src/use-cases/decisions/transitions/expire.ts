import type { StoredDecision } from '@countersign/store-port/documents'
import { ConflictError, type OpenStatus, type Store } from '@countersign/store-port/store'
import type { ApprovalEnds } from '../../../state/approval-ends.js'
import { expiry } from './expiry.js'
import { type TransitionDeps, writeTransition } from './transition.js'

export interface ExpireDeps extends Omit<TransitionDeps, 'store'> {
  readonly store: TransitionDeps['store'] & Pick<Store, 'listOverdue' | 'firstApprovalEnd'>
  readonly approvalEnds: ApprovalEnds
}

/** At most one group of the mutation writer, so that requests get in between two groups. */
const BATCH = 256

/**
 * Writes down what the clock has ended. The status derives from the clock anyway; this settles the budgets and writes the
 * audit log. Other transitions of the same decisions may run at the same time.
 *
 * @throws StoreUnavailableError
 */
export async function expireOverdue(deps: ExpireDeps): Promise<void> {
  await expireAllApprovals(deps)
  for (const status of ['authorized', 'awaiting_review'] as const) await expireAll(deps, status)
}

/** Expires approvals that nobody claimed in time, which gives room back. Costs nothing while none is due. */
export async function expireApprovals(deps: ExpireDeps): Promise<void> {
  if (deps.approvalEnds.isDue(deps.clock.now().toISOString())) await expireAllApprovals(deps)
}

async function expireAllApprovals(deps: ExpireDeps): Promise<void> {
  await expireAll(deps, 'approved')
  await deps.approvalEnds.refresh(() => deps.store.firstApprovalEnd())
}

function expireAll(deps: ExpireDeps, status: OpenStatus): Promise<void> {
  return deps.mutex.join(`overdue ${status}`, async () => {
    for (;;) {
      const now = deps.clock.now().toISOString()
      const overdue = await deps.store.listOverdue(status, now, BATCH)
      const expired = await Promise.all(overdue.map((decision) => expireOne(deps, decision, now)))
      if (overdue.length < BATCH || !expired.includes(true)) return
    }
  })
}

/** False when somebody else changed it first: then it is no longer overdue. */
async function expireOne(deps: ExpireDeps, decision: StoredDecision, now: string): Promise<boolean> {
  try {
    await writeTransition(deps, decision, expiry(decision), { actor: null, now, idempotency: null })
    return true
  } catch (error) {
    if (error instanceof ConflictError && error.conflict === 'version') return false
    throw error
  }
}
