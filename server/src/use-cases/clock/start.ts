import type { StoreClock } from '../../ports/clock.js'
import type { Store } from '../../ports/store/store.js'

/** The clocks of machines that share a store differ by less than this. */
const TOLERANCE_MS = 1000

/**
 * Continues time from the newest audit entry of the store, regardless of the system clock. So time never decreases
 * within a log, and no closed period of a budget reopens. Entries of all processes count, because they share the
 * periods.
 *
 * @returns the two times, for a warning, when the system clock is more than a second behind; else null
 * @throws StoreUnavailableError
 */
export async function startClock(
  clock: StoreClock,
  store: Pick<Store, 'audit'>,
): Promise<{ readonly system_clock: string; readonly newest_entry: string } | null> {
  const { items } = await store.audit.list({}, { limit: 1, after: null })
  const newest = items[0]
  if (newest === undefined) return null
  const now = clock.now()
  const newestAt = new Date(newest.at)
  clock.startFrom(newestAt)
  if (newestAt.getTime() - now.getTime() <= TOLERANCE_MS) return null
  return { system_clock: now.toISOString(), newest_entry: newest.at }
}
