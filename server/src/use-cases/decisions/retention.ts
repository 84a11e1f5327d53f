import { periodAt } from '@countersign/engine'
import type { ClosedDecision, Store } from '@countersign/store-port/store'
import type { Clock } from '../../ports/clock.js'
import { LATE_MS } from './transitions/settlement.js'

export interface RetentionDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'listClosed' | 'removeDecisions'>
  /** False when the server stops. The next run continues the work. */
  readonly isServing: () => boolean
}

const DAY_MS = 86_400_000

/** Small enough that neither requests nor commits wait long for one batch. */
const BATCH = 100

/**
 * Removes decisions that are older than `days` and closed for good, with their requests. Nobody can settle or correct them
 * any more. Open accounts still add up: a decision that counts in an account stays until the period of the account is over,
 * and forever where the period is `total`. The audit log keeps all its entries.
 *
 * @returns how many were removed
 * @throws StoreUnavailableError
 */
export async function removeOldDecisions(deps: RetentionDeps, days: number): Promise<number> {
  const nowMs = deps.clock.now().getTime()
  const now = new Date(nowMs)
  const filter = {
    evaluated_before: new Date(nowMs - days * DAY_MS).toISOString(),
    ended_before: new Date(nowMs - LATE_MS).toISOString(),
  }
  let removed = 0
  for (let after: string | null = null; deps.isServing(); ) {
    const { items, next } = await deps.store.listClosed(filter, { limit: BATCH, after })
    const over = items.filter((decision) => !countsInOpenPeriod(decision, now))
    if (over.length > 0) removed += await deps.store.removeDecisions(over, now.toISOString())
    if (next === null) break
    after = next
  }
  return removed
}

function countsInOpenPeriod({ postings }: ClosedDecision, now: Date): boolean {
  return postings.some((posting) => (posting.spent !== '0' || posting.reserved !== '0') && !isOver(posting, now))
}

function isOver({ account: { period, starts_at } }: ClosedDecision['postings'][number], now: Date): boolean {
  const present = periodAt(period, now).starts_at
  return present !== null && starts_at !== null && starts_at < present
}
