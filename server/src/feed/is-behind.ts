import type { FeedStore } from '../ports/store/feed.js'
import { leaveOut } from '../ports/store/row-document.js'
import { readLogs } from '../use-cases/audit/log-reader.js'
import { readerNameOf } from './webhooks/delivery-reader.js'

/** Younger decisions may simply not be processed yet. */
const ON_ITS_WAY_MS = 3_600_000

/**
 * Whether a reader or a delivery still needs decisions of more than an hour ago: the server was stopped for long, or an
 * endpoint fails. The reader of a disabled webhook needs none; the reader of a damaged one may.
 *
 * @throws StoreUnavailableError
 */
export async function isFeedBehind(
  store: Pick<FeedStore, 'audit' | 'readers' | 'webhooks' | 'deliveries'>,
  now: Date,
): Promise<boolean> {
  const since = new Date(now.getTime() - ON_ITS_WAY_MS).toISOString()
  const webhooks = await store.webhooks.load(leaveOut)
  const disabled = new Set(webhooks.filter((webhook) => webhook.disabled !== null).map(({ id }) => readerNameOf(id)))
  for (const name of await store.readers.list('')) {
    if (disabled.has(name)) continue
    const reader = await store.readers.get(name)
    const { entries } = await readLogs(store, reader?.positions ?? {}, 1)
    if (entries[0] !== undefined && entries[0].at < since) return true
  }
  for (const { id } of webhooks) {
    const pending = await store.deliveries.pendingOf(id)
    if (pending !== null && pending.oldest_event_at < since) return true
  }
  return false
}
