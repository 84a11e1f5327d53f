import type { Store } from '@countersign/store-port/store'
import type { StoreClock } from '../../ports/clock.js'

/** The clocks of machines that share a store differ by less. */
const TOLERANCE_MS = 1000

/**
 * Time continues from the newest audit entry of the store, whatever the system clock says. So time never decreases within a
 * log, and no closed period of a budget opens again. Entries of all processes count, because they share the periods.
 *
 * @returns the two times, for a warning, when the system clock is more than a second behind; else null
 * @throws StoreUnavailableError
 */
export async function startClock(
  clock: StoreClock,
  store: Pick<Store, 'listAuditEntries'>,
): Promise<{ readonly system_clock: string; readonly newest_entry: string } | null> {
  const { items } = await store.listAuditEntries({}, { limit: 1, after: null })
  const newest = items[0]
  if (newest === undefined) return null
  const now = clock.now()
  const newestAt = new Date(newest.at)
  clock.startFrom(newestAt)
  if (newestAt.getTime() - now.getTime() <= TOLERANCE_MS) return null
  return { system_clock: now.toISOString(), newest_entry: newest.at }
}
