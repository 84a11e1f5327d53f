import type { FeedReads } from '@countersign/store-port/feed'
import { readLogs } from './log-reader.js'
import { readerNameOf } from './webhooks/delivery-reader.js'

/** What is younger is on its way. */
const ON_ITS_WAY_MS = 3_600_000

/**
 * Whether some reader or some delivery still needs decisions of more than an hour ago: the server was stopped for long, or an
 * endpoint fails. The reader of a disabled webhook needs nothing.
 *
 * @throws StoreUnavailableError
 */
export async function isFeedBehind(
  feed: Pick<FeedReads, 'listLogs' | 'readLog' | 'listReaders' | 'findReader' | 'loadWebhooks' | 'pendingOf'>,
  now: Date,
): Promise<boolean> {
  const since = new Date(now.getTime() - ON_ITS_WAY_MS).toISOString()
  const webhooks = await feed.loadWebhooks()
  const disabled = new Set(webhooks.filter((webhook) => webhook.disabled !== null).map(({ id }) => readerNameOf(id)))
  for (const name of await feed.listReaders('')) {
    if (disabled.has(name)) continue
    const reader = await feed.findReader(name)
    const { entries } = await readLogs(feed, reader?.positions ?? {}, 1)
    if (entries[0] !== undefined && entries[0].at < since) return true
  }
  for (const { id } of webhooks) {
    const pending = await feed.pendingOf(id)
    if (pending !== null && pending.oldest_event_at < since) return true
  }
  return false
}
