/** How far the feed is behind the audit log, as the store tells: whichever process does the work. */
import { FEED_PARTS, type FeedPart } from '../ports/metrics.js'
import type { LogEnd } from '../ports/store/audit.js'
import type { FeedStore, Positions } from '../ports/store/feed.js'
import { leaveOut } from '../ports/store/row-document.js'
import { TREES_READER, treesOf } from '../use-cases/audit/trees.js'
import { STATISTICS_READER } from '../use-cases/stats/counts.js'
import { BUDGET_ALARMS_READER } from './budget-alarms.js'
import { readerNameOf } from './webhooks/delivery-reader.js'

type LagStore = Pick<FeedStore, 'audit' | 'deliveries' | 'readers' | 'webhooks'>

/** Each member is the time of the oldest entry that waits; null when none does. */
export interface FeedLag {
  /** For the enabled webhook that is furthest behind. A replay is no lag. */
  readonly webhooks: string | null
  readonly parts: Readonly<Record<FeedPart, string | null>>
  /** When the newest checkpoint was signed; null before the first one. */
  readonly checkpoint: string | null
}

const READERS: Readonly<Record<FeedPart, string>> = {
  budget_alarms: BUDGET_ALARMS_READER,
  statistics: STATISTICS_READER,
  trees: TREES_READER,
}

/** Reads at most one entry of each log for each reader. @throws StoreUnavailableError */
export async function measureFeedLag(store: LagStore): Promise<FeedLag> {
  const unread = new Unread(store, await store.audit.listLogs())
  const parts = { ...NO_LAG }
  let checkpoint: string | null = null
  for (const part of FEED_PARTS) {
    const reader = await store.readers.get(READERS[part])
    parts[part] = await unread.oldest(reader?.positions ?? {})
    if (part === 'trees') checkpoint = treesOf(reader?.state ?? {}).root.checkpoint?.created_at ?? null
  }
  let webhooks: string | null = null
  for (const { id, disabled } of await store.webhooks.load(leaveOut)) {
    if (disabled !== null) continue
    const reader = await store.readers.get(readerNameOf(id))
    const pending = await store.deliveries.pendingOf(id)
    // The reader of a new webhook begins at its creation, and has no positions before.
    const waiting = reader?.positions == null ? null : await unread.oldest(reader.positions)
    webhooks = earlier(webhooks, earlier(waiting, pending?.oldest_event_at ?? null))
  }
  return { webhooks, parts, checkpoint }
}

const NO_LAG: Record<FeedPart, string | null> = { budget_alarms: null, statistics: null, trees: null }

/** Readers that lag often wait for the same entry, so each is read once. */
class Unread {
  readonly #times = new Map<string, Promise<string | null>>()

  constructor(
    private readonly store: LagStore,
    private readonly ends: readonly LogEnd[],
  ) {}

  async oldest(positions: Positions): Promise<string | null> {
    let oldest: string | null = null
    for (const { log, next_index } of this.ends) {
      const index = positions[log] ?? 0
      if (index < next_index) oldest = earlier(oldest, await this.#timeOf(log, index))
    }
    return oldest
  }

  /** Null for a missing entry: `countersign_audit_log_gaps` counts those. */
  #timeOf(log: string, index: number): Promise<string | null> {
    const name = `${log}/${index}`
    const known = this.#times.get(name)
    if (known !== undefined) return known
    const time = this.store.audit.read(log, index, 1).then(([entry]) => entry?.at ?? null)
    this.#times.set(name, time)
    return time
  }
}

/** Null is later than any time. */
function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other
  return one < other ? one : other
}
