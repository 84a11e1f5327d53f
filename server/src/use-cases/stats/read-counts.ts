import type { CountFilter, FeedStore, StoredCount } from '../../ports/store/feed.js'

/** A bucket of decisions has at most about a thousand counts. */
const PAGE = 1100

/**
 * Yields the counts of a series in a time span, oldest first, page by page. A page ends with the last count of a
 * bucket.
 */
export async function* readCounts(
  store: Pick<FeedStore, 'counts'>,
  filter: CountFilter,
): AsyncGenerator<readonly StoredCount[]> {
  let { from_ms } = filter
  for (let limit = PAGE; ; ) {
    const page = await store.counts.list({ ...filter, from_ms }, limit)
    const last = page.at(-1)
    if (last === undefined || page.length < limit) {
      yield page
      return
    }
    const whole = page.filter(({ starts_ms }) => starts_ms < last.starts_ms)
    if (whole.length === 0) limit *= 2
    else yield whole
    from_ms = last.starts_ms
  }
}
