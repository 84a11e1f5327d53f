import { periodAt } from '@countersign/engine'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Clock } from '../../ports/clock.js'
import type { ClosedDecision, ClosedFilter } from '../../ports/store/decisions.js'
import type { Store } from '../../ports/store/store.js'
import { LATE_MS } from './transitions/settlement.js'

export interface RetentionDeps {
  readonly clock: Clock
  readonly store: Pick<Store, 'decisions'>
  readonly writer: Pick<MutationWriter, 'writeEntry'>
  /** False when the server stops. The next run continues the work. */
  readonly isServing: () => boolean
}

const DAY_MS = 86_400_000

/** Small enough that neither requests nor commits wait long for a batch. */
const BATCH = 100

/**
 * Removes decisions, with their requests, that are older than `days` and can no longer be settled or corrected. Open
 * accounts still add up: a decision that counts in an account stays until the account's period is over, and forever if
 * the period is `total`. The audit log keeps all its entries; before the first removal it records which decisions may
 * be gone from then on.
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
  let isAnnounced = false
  for (let after: string | null = null; deps.isServing(); ) {
    const { items, next } = await deps.store.decisions.listClosed(filter, { limit: BATCH, after })
    const over = items.filter((decision) => !countsInOpenPeriod(decision, now))
    if (over.length > 0) {
      if (!isAnnounced) await announce(deps, now, filter)
      isAnnounced = true
      removed += await deps.store.decisions.remove(over, now.toISOString())
    }
    if (next === null) break
    after = next
  }
  return removed
}

/** Without this entry, these decisions would look like ones that an intruder deleted. */
async function announce({ writer }: RetentionDeps, now: Date, filter: ClosedFilter): Promise<void> {
  const at = now.toISOString()
  await writer.writeEntry({ at, type: 'decisions.removed', subject: 'decisions', data: { ...filter } })
}

function countsInOpenPeriod({ postings }: ClosedDecision, now: Date): boolean {
  return postings.some((posting) => (posting.spent !== '0' || posting.reserved !== '0') && !isOver(posting, now))
}

function isOver({ account: { period, starts_at } }: ClosedDecision['postings'][number], now: Date): boolean {
  const present = periodAt(period, now).starts_at
  return present !== null && starts_at !== null && starts_at < present
}
