/** Reads the log for all endpoints: endpoints at the same position share the entries and the events built from them. */
import type { AuditEntry } from '@countersign/contract'
import type { StoredDelivery, StoredWebhook } from '../../ports/store/documents.js'
import type { FeedStore, Positions } from '../../ports/store/feed.js'
import { type LogPage, positionsAtEnd, readLogs } from '../../use-cases/audit/log-reader.js'
import { viewWebhook } from '../../use-cases/webhooks/view.js'
import { type EventReads, eventsOf, type FeedEvent } from '../event-of.js'

/** How many entries are read at a time. */
const PAGE_ENTRIES = 64
/** How many pages are kept for the endpoints that reach them a little later. */
const KEPT_PAGES = 16
const KEPT_ENTRIES = 256

interface Page {
  readonly turn: number
  readonly content: Promise<LogPage>
  /** The entries after a position never change, but whether there are any does. */
  hasEntries: boolean
}

/** The events built from an entry. */
interface Made {
  readonly subject: string
  readonly events: Promise<readonly FeedEvent[]>
}

export class EventSource {
  readonly #pages = new Map<string, Page>()
  readonly #events = new Map<string, Made>()
  readonly #bodies = new WeakMap<FeedEvent, Buffer>()
  #turn = 0
  /** The erasures before these positions are known. Null: nothing is kept. */
  #erasuresAt: Positions | null = null

  constructor(private readonly reads: EventReads & Pick<FeedStore, 'audit'>) {}

  /** Call this after a possible write: the end of the log is read again. */
  beginTurn(): void {
    this.#turn += 1
  }

  /** Drops everything, because no endpoint reads. */
  clear(): void {
    this.#events.clear()
    this.#erasuresAt = null
  }

  /**
   * Await this in each turn: it drops everything built from requests that were erased since. Callers at the end of the
   * log share the reads.
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
      // The erasures since then are unknown.
      this.clear()
      throw error
    }
  }

  /** Returns the next entries after these positions. */
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

  eventsOf(entry: AuditEntry): Promise<readonly FeedEvent[]> {
    const key = keyOf(entry)
    const known = this.#events.get(key)
    if (known !== undefined) return known.events
    const made = { subject: entry.subject, events: eventsOf(this.reads, entry) }
    if (this.#erasuresAt !== null) keep(this.#events, key, made, KEPT_ENTRIES)
    made.events.catch(() => forget(this.#events, key, made))
    return made.events
  }

  /** Returns the body to send for a delivery's event. Null: the subject of the event is no longer in the store. */
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
    const [entry] = await this.reads.audit.read(log, index, 1)
    return entry === undefined ? [] : this.eventsOf(entry)
  }
}

function bodyOf(event: Pick<FeedEvent, 'timestamp' | 'sequence' | 'data'> & { type: string }) {
  const { type, timestamp, sequence, data } = event
  return Buffer.from(JSON.stringify({ type, timestamp, sequence, data }))
}

function keyOf({ log, index }: Pick<AuditEntry, 'log' | 'index'>): string {
  return `${log}/${index}`
}

/** Adds a value, and drops the oldest beyond `limit`. */
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
