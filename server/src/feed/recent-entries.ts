/**
 * The newest entries that this process has written, for all readers of the logs: they read the store only when they are
 * behind. What is not here is read from the store, through the same calls.
 */
import type { AuditEntry } from '@countersign/contract'
import type { LogEnd } from '../ports/store/audit.js'
import type { FeedStore } from '../ports/store/feed.js'
import { PageRoom } from '../ports/store/page-room.js'
import type { EntryRun, News } from './news.js'

export interface RecentEntriesOptions {
  /** Whether other processes write to the store, too: then only the store knows where the logs end. */
  readonly isShared: boolean
  readonly monotonicMs: () => number
  readonly limits?: RecentLimits
}

interface RecentLimits {
  readonly entries: number
  /** Of their texts. */
  readonly bytes: number
}

interface Recent {
  readonly bytes: number
  /** The text until it is read for the first time. */
  content: string | AuditEntry
}

const LIMITS: RecentLimits = { entries: 4096, bytes: 4 * 1024 * 1024 }
/** How often the store is asked where the logs end, whatever the news say. */
const ENDS_EVERY_MS = 1000

export class RecentEntries {
  /** The log of this process. */
  #log = ''
  /** The index of the first entry that is kept. */
  #first = 0
  #recent: Recent[] = []
  #bytes = 0
  /** Null while only the store knows. */
  #ends: readonly LogEnd[] | null = null
  #endsAtMs = Number.NEGATIVE_INFINITY
  /** Where the log of this process ended when the store was asked last. */
  #endInStore = 0
  /** How often a write has failed, or what is remembered was forgotten. */
  #doubts = 0
  #asking: Promise<readonly LogEnd[]> | null = null

  constructor(
    private readonly store: Pick<FeedStore, 'audit'>,
    private readonly options: RecentEntriesOptions,
  ) {}

  learn({ runs, isEndKnown }: News): void {
    for (const run of runs) {
      this.#add(run)
      this.#moveEnd({ log: run.log, next_index: run.from + run.documents.length })
    }
    this.#shrink()
    if (!isEndKnown) this.#doubt()
  }

  /** From now on everything is read from the store, except later news. */
  forget(): void {
    this.#log = ''
    this.#first = 0
    this.#recent = []
    this.#bytes = 0
    this.#doubt()
  }

  /** As `AuditStore.read`. */
  async read(log: string, fromIndex: number, limit: number, maxBytes?: number): Promise<readonly AuditEntry[]> {
    const from = fromIndex - this.#first
    if (log !== this.#log || from < 0 || from >= this.#recent.length)
      return this.store.audit.read(log, fromIndex, limit, maxBytes)
    const room = new PageRoom({ limit, ...(maxBytes !== undefined && { maxBytes }) })
    const entries: AuditEntry[] = []
    for (let i = from; i < this.#recent.length && entries.length < limit; i += 1) {
      const recent = this.#recent[i] as Recent
      if (!room.takes(recent.bytes)) break
      if (typeof recent.content === 'string') recent.content = JSON.parse(recent.content) as AuditEntry
      entries.push(recent.content)
    }
    return entries
  }

  /** As `AuditStore.listLogs`. */
  async listLogs(): Promise<readonly LogEnd[]> {
    const { isShared, monotonicMs } = this.options
    if (isShared) return this.store.audit.listLogs()
    const nowMs = monotonicMs()
    if (this.#ends !== null && nowMs < this.#endsAtMs + ENDS_EVERY_MS) return this.#ends
    // Readers that ask at the same time get one answer: a second one would look like news that were lost.
    if (this.#asking !== null) return this.#asking
    const asking = this.#askForEnds(nowMs).finally(() => {
      if (this.#asking === asking) this.#asking = null
    })
    this.#asking = asking
    return asking
  }

  async #askForEnds(nowMs: number): Promise<readonly LogEnd[]> {
    const doubts = this.#doubts
    const [toldLog, told] = [this.#log, this.#next]
    const ends = await this.store.audit.listLogs()
    // A write that failed during this read may have become durable after it.
    if (doubts !== this.#doubts) return ends
    const own = ends.find(({ log }) => log === this.#log)
    // What was told is durable, so another program has removed it.
    if (this.#log === toldLog && (own?.next_index ?? 0) < told) {
      this.forget()
      return ends
    }
    // Entries that the store has and the news do not tell yet are on their way, unless they were the last time, too.
    const isTold = this.#ends !== null && this.#next >= this.#endInStore
    this.#endInStore = own?.next_index ?? 0
    const next = isTold ? this.#next : Math.max(this.#next, this.#endInStore)
    this.#ends = own === undefined ? ends : withEnd(ends, { ...own, next_index: next })
    this.#endsAtMs = nowMs
    return this.#ends
  }

  /** Later callers get no answer of the store that is older than this. */
  #doubt(): void {
    this.#doubts += 1
    this.#ends = null
    this.#asking = null
  }

  /** The index after the last entry that is kept. */
  get #next(): number {
    return this.#first + this.#recent.length
  }

  #add({ log, from, documents }: EntryRun): void {
    if (log !== this.#log || from !== this.#next) {
      this.#log = log
      this.#first = from
      this.#recent = []
      this.#bytes = 0
    }
    for (const content of documents) {
      const bytes = Buffer.byteLength(content)
      this.#recent.push({ bytes, content })
      this.#bytes += bytes
    }
  }

  #shrink(): void {
    const { entries, bytes } = this.options.limits ?? LIMITS
    let dropped = 0
    for (; this.#recent.length - dropped > entries || this.#bytes > bytes; dropped += 1)
      this.#bytes -= (this.#recent[dropped] as Recent).bytes
    this.#recent.splice(0, dropped)
    this.#first += dropped
  }

  #moveEnd(end: LogEnd): void {
    const known = this.#ends?.find(({ log }) => log === end.log)?.next_index ?? 0
    // The store may have told a later end.
    if (this.#ends !== null && known < end.next_index) this.#ends = withEnd(this.#ends, end)
  }
}

function withEnd(ends: readonly LogEnd[], end: LogEnd): readonly LogEnd[] {
  const others = ends.filter(({ log }) => log !== end.log)
  return [...others, end].sort((one, other) => (one.log < other.log ? -1 : 1))
}

/** The store, with its entries read from here. */
export function readingFrom(recent: RecentEntries, store: FeedStore): FeedStore {
  return Object.create(store, { audit: { value: recent } })
}
