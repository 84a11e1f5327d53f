import { periodAt } from '@countersign/engine'
import type { ClosedDecision, Store } from '@countersign/store-port/store'
import type { Clock } from '../../ports/clock.js'
import { LATE_MS } from './transitions/settlement.js'

export interface RetentionDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'listClosed' | 'removeDecisions'>
  /** The work is left to the next run when the server stops. */
  readonly isServing: () => boolean
}

const DAY_MS = 86_400_000

/** So few that neither requests nor commits wait long for one. */
const BATCH = 100

/**
 * Removes decisions, with the requests that are held beside the log, that are older than so many days and closed for good:
 * nobody can settle or correct them any more. What is left adds up: a decision that counts for something in an account stays
 * until the account's period is over, and for good where the period is `total`. The entries of the audit log all stay; of an
 * account whose period is over they say what it adds up from.
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
