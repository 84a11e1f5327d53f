/** Reads the log for all endpoints: those that are at the same place share what is read and composed. */
import type { AuditEntry } from '@countersign/contract'
import type { StoredDelivery, StoredWebhook } from '@countersign/store-port/documents'
import type { FeedReads, Positions } from '@countersign/store-port/feed'
import { viewWebhook } from '../../use-cases/webhooks/view.js'
import { type EventReads, eventsOf, type FeedEvent } from '../event-of.js'
import { type LogPage, positionsAtEnd, readLogs } from '../log-reader.js'

/** So many entries are read at a time. */
const PAGE_ENTRIES = 64
/** How much is remembered for the endpoints that come to it a little later. */
const KEPT_PAGES = 16
const KEPT_ENTRIES = 256

interface Page {
  readonly turn: number
  readonly content: Promise<LogPage>
  /** The entries behind a position never change. Whether there are any does. */
  hasEntries: boolean
}

/** The events of an entry. */
interface Made {
  readonly subject: string
  readonly events: Promise<readonly FeedEvent[]>
}

export class EventSource {
  readonly #pages = new Map<string, Page>()
  readonly #events = new Map<string, Made>()
  readonly #bodies = new WeakMap<FeedEvent, Buffer>()
  #turn = 0
  /** Erasures before them are known. Null: nothing is kept. */
  #erasuresAt: Positions | null = null

  constructor(private readonly reads: EventReads & Pick<FeedReads, 'listLogs' | 'readLog'>) {}

  /** Something may have been written: the end of the log is looked at anew. */
  beginTurn(): void {
    this.#turn += 1
  }

  /** Nobody reads: nothing is kept. */
  clear(): void {
    this.#events.clear()
    this.#erasuresAt = null
  }

  /**
   * To be awaited in each turn: forgets what was made of requests that were erased since. Whoever is at the end of the log shares
   * the reads.
   */
  async forgetErased(): Promise<void> {
    try {
      this.#erasuresAt ??= await positionsAtEnd(this.reads)
      for (let hasMore = true; hasMore; ) {
        const { entries, positions } = await this.read(this.#erasuresAt)
        const erased = new Set(entries.filter(({ type }) => type === 'request.erased').map(({ subject }) => subject))
        for (const [key, { subject }] of this.#events) if (erased.has(subject)) this.#events.delete(key)
        this.#erasuresAt = positions
        hasMore = entries.length > 0
      }
    } catch (error) {
      // What was erased meanwhile cannot be told.
      this.clear()
      throw error
    }
  }

  /** The next entries behind these positions. */
  read(positions: Positions): Promise<LogPage> {
    const key = JSON.stringify(positions)
    const known = this.#pages.get(key)
    if (known !== undefined && (known.hasEntries || known.turn === this.#turn)) return known.content
    const page: Page = {
      turn: this.#turn,
      content: readLogs(this.reads, positions, PAGE_ENTRIES),
      hasEntries: false,
    }
    keep(this.#pages, key, page, KEPT_PAGES)
    page.content.then(
      ({ entries }) => {
        page.hasEntries = entries.length > 0
      },
      () => forget(this.#pages, key, page),
    )
    return page.content
  }

  /** The events of an entry, in order. */
  eventsOf(entry: AuditEntry): Promise<readonly FeedEvent[]> {
    const key = keyOf(entry)
    const known = this.#events.get(key)
    if (known !== undefined) return known.events
    const made = { subject: entry.subject, events: eventsOf(this.reads, entry) }
    if (this.#erasuresAt !== null) keep(this.#events, key, made, KEPT_ENTRIES)
    made.events.catch(() => forget(this.#events, key, made))
    return made.events
  }

  /** What is sent of a delivery's event. Null: what the event tells of is not in the store any more. */
  async bodyOf({ event }: StoredDelivery, webhook: StoredWebhook): Promise<Buffer | null> {
    const { id, type, at, entry } = event
    if (entry === null) return bodyOf({ type, timestamp: at, sequence: null, data: viewWebhook(webhook) })
    const events = await (this.#events.get(keyOf(entry))?.events ?? this.#eventsAt(entry))
    const found = events.find((one) => one.id === id)
    if (found === undefined) return null
    const body = this.#bodies.get(found) ?? bodyOf(found)
    this.#bodies.set(found, body)
    return body
  }

  async #eventsAt({ log, index }: Pick<AuditEntry, 'log' | 'index'>): Promise<readonly FeedEvent[]> {
    const [entry] = await this.reads.readLog(log, index, 1)
    return entry === undefined ? [] : this.eventsOf(entry)
  }
}

function bodyOf({
  type,
  timestamp,
  sequence,
  data,
}: Pick<FeedEvent, 'timestamp' | 'sequence' | 'data'> & { type: string }) {
  return Buffer.from(JSON.stringify({ type, timestamp, sequence, data }))
}

function keyOf({ log, index }: Pick<AuditEntry, 'log' | 'index'>): string {
  return `${log}/${index}`
}

/** Adds one, and forgets the oldest beyond `limit`. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= limit) return
    map.delete(oldest)
  }
}

function forget<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.get(key) === value) map.delete(key)
}
