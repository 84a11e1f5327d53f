import type { OpenStatus } from '../../../ports/store/decisions.js'
import type { StoredDecision } from '../../../ports/store/documents.js'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import { ConflictError, type Store } from '../../../ports/store/store.js'
import type { ApprovalEnds } from '../../../state/approval-ends.js'
import { expiry } from './expiry.js'
import { type TransitionDeps, writeTransition } from './transition.js'

export interface ExpireDeps extends Omit<TransitionDeps, 'store'> {
  readonly store: TransitionDeps['store'] & Pick<Store, 'decisions'>
  readonly approvalEnds: ApprovalEnds
}

/** At most one group of the mutation writer, so that requests get in between two groups. */
const BATCH = 256

/**
 * Records every decision that has expired. The status follows from the clock anyway; this settles the budgets and
 * writes the audit log. Other transitions of the same decisions may run at the same time.
 *
 * @returns one error for each decision that could not be expired, for example because its row was edited; all others
 *   are expired
 * @throws StoreUnavailableError
 */
export async function expireOverdue(deps: ExpireDeps): Promise<readonly unknown[]> {
  const failures = [...(await expireAllApprovals(deps))]
  for (const status of ['authorized', 'awaiting_review'] as const) failures.push(...(await expireAll(deps, status)))
  return failures
}

/** Expires approvals that were not claimed in time, which frees their room. Costs nothing while none is due. */
export async function expireApprovals(deps: ExpireDeps): Promise<void> {
  // An approval that cannot be expired keeps its room, and does not stop the others.
  if (deps.approvalEnds.isDue(deps.clock.now().toISOString())) await expireAllApprovals(deps)
}

async function expireAllApprovals(deps: ExpireDeps): Promise<readonly unknown[]> {
  const failures = await expireAll(deps, 'approved')
  await deps.approvalEnds.refresh(() => deps.store.decisions.firstApprovalEnd())
  return failures
}

/** Continues after each page, so that a decision that cannot be expired does not block the rest. */
function expireAll(deps: ExpireDeps, status: OpenStatus): Promise<readonly unknown[]> {
  return deps.mutex.join(`overdue ${status}`, async () => {
    const failures: unknown[] = []
    for (let after: string | null = null; ; ) {
      const now = deps.clock.now().toISOString()
      const { items, next } = await deps.store.decisions.listOverdue(status, now, { limit: BATCH, after })
      await Promise.all(items.map((decision) => expireOne(deps, decision, now, failures)))
      if (next === null) return failures
      after = next
    }
  })
}

async function expireOne(deps: ExpireDeps, decision: StoredDecision, now: string, failures: unknown[]): Promise<void> {
  try {
    await writeTransition(deps, decision, expiry(decision), { caller: null, now, idempotency: null })
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error
    // Another writer changed it first, so it is no longer overdue.
    if (error instanceof ConflictError && error.conflict === 'version') return
    failures.push(error)
  }
}
