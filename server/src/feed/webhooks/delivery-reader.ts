import { setImmediate as othersTurn } from 'node:timers/promises'
import { type AuditEntry, EVENT_TYPES, type EventType, typesOfChange } from '@countersign/contract'
import type { Clock } from '../../ports/clock.js'
import type { StoredDelivery, StoredWebhook } from '../../ports/store/documents.js'
import type { FeedStore, Positions } from '../../ports/store/feed.js'
import { behind, isAt, type LogPage, positionsAt } from '../../use-cases/audit/log-reader.js'
import { Reader, type ReaderDeps } from '../reader.js'
import { newDelivery } from './delivery.js'
import type { EventSource } from './event-source.js'
import type { FailingRun } from './failing-run.js'

export interface DeliveryReaderDeps extends ReaderDeps {
  readonly store: ReaderDeps['store'] & Pick<FeedStore, 'audit'>
  /** The same store, without what this process remembers of it: entries that are durable are found at once. */
  readonly checked: Pick<FeedStore, 'audit'>
  readonly clock: Clock
  readonly source: EventSource
}

/** The time span whose entries are read. */
export interface Span {
  /** Inclusive. */
  readonly since: string
  /** Exclusive; null for no end. The reader of a span with an end was saved before a process held it. */
  readonly until: string | null
}

/** How many pages are read in one go when none of their entries is wanted. */
const MAX_PAGES = 16
/** How often positions without deliveries are saved, so that reading unwanted entries costs few writes. */
const SAVED_EVERY_MS = 1000

/**
 * The name of the reader that creates a webhook's deliveries of new events. The readers of its replays are
 * `replay/<id>/…`.
 */
export function readerNameOf(webhookId: string): string {
  return `webhook/${webhookId}`
}

/**
 * Creates deliveries for one endpoint from the log: of everything since it was enabled, or of a span that is sent once
 * more.
 */
export class DeliveryReader {
  readonly #reader: Reader
  #fence: number | null = null
  #at: Positions = {}
  /** The positions after the last entry of the span; null for no end. */
  #end: Positions | null = null
  #failing: FailingRun | null = null
  #isSaved = true
  #savedAtMs = Number.NEGATIVE_INFINITY
  #hasMore = true

  constructor(
    private readonly deps: DeliveryReaderDeps,
    readonly name: string,
    readonly span: Span,
    /** Whether everything that is durable now allows the span to be read from its start. */
    private readonly mayBegin: () => Promise<boolean> = async () => true,
  ) {
    this.#reader = new Reader(deps, name)
  }

  /** Since when the endpoint has been failing; saved with the next positions. */
  get failing(): FailingRun | null {
    return this.#failing
  }
  set failing(run: FailingRun | null) {
    if (run === null && this.#failing === null) return
    this.#failing = run
    this.#isSaved = false
  }

  /** Whether the last call of `read` stopped before the end of the log. */
  get hasMore(): boolean {
    return this.#hasMore
  }

  /** Whether the whole span is read and saved. */
  get isDone(): boolean {
    const { until } = this.span
    if (until === null || this.#end === null || !this.#isSaved) return false
    return isAt(this.#at, this.#end)
  }

  /**
   * Takes or keeps the reader. Returns false while another process has it, and when it may not begin. Another process
   * may have removed it before this one learned why: beginning then would send everything once more.
   */
  async hold(): Promise<boolean> {
    const held = await this.#reader.hold()
    if (held === null) {
      this.#fence = null
      return false
    }
    if (held.fence === this.#fence) return true
    const { store, checked } = this.deps
    const { since, until } = this.span
    const isBegun = held.state.is_begun === true && held.state.since === since && held.positions !== null
    const isOver = until !== null && held.positions === null
    if (!isBegun && !isOver && !(await this.mayBegin())) return false
    this.#at = isBegun ? (held.positions as Positions) : isOver ? {} : await positionsAt(store, since)
    // Read once: entries that are still on their way to this thread belong to the span, too.
    this.#end = until === null ? null : isOver ? {} : await positionsAt(checked, until)
    this.#failing = isBegun ? ((held.state.failing ?? null) as FailingRun | null) : null
    this.#isSaved = isBegun || isOver
    this.#hasMore = true
    this.#fence = held.fence
    return true
  }

  /**
   * Reads until there are this many deliveries or nothing more to read, and saves the deliveries as new and due. An
   * entry with two events may add one more.
   *
   * @param webhookNow returns the webhook as of now: the events that it wants may change during the read
   */
  async read(webhookNow: () => StoredWebhook, room: number): Promise<readonly StoredDelivery[]> {
    const deliveries: StoredDelivery[] = []
    let at = this.#at
    let hasMore = true
    for (let pages = 0; hasMore && pages < MAX_PAGES && deliveries.length < room; pages += 1) {
      const page = await this.deps.source.read(at)
      hasMore = page.entries.length > 0
      if (!hasMore) break
      // Read after the entries, so that it is not older than they are.
      const webhook = webhookNow()
      const made = await Promise.all(page.entries.map((entry) => this.#deliveriesOf(entry, webhook)))
      const taken = take(made, room - deliveries.length)
      deliveries.push(...made.slice(0, taken).flat())
      at = taken === made.length ? page.positions : passed(at, page, taken)
      // The store may answer at once, and then the connections of all endpoints would have to wait.
      await othersTurn()
    }
    this.#hasMore = hasMore
    return (await this.#save(at, deliveries)) ? deliveries : []
  }

  async #save(at: Positions, deliveries: readonly StoredDelivery[]): Promise<boolean> {
    const isSaved = this.#isSaved && at === this.#at
    const nowMs = this.deps.clock.now().getTime()
    if (deliveries.length === 0 && (isSaved || nowMs - this.#savedAtMs < SAVED_EVERY_MS)) {
      this.#isSaved = isSaved
      this.#at = at
      return true
    }
    const { since, until } = this.span
    const failing = this.#failing && { since: this.#failing.since, last: this.#failing.last }
    const state = { since, until, is_begun: true, failing }
    if (!(await this.#reader.save({ positions: at, state, deliveries }))) {
      this.#fence = null
      return false
    }
    this.#isSaved = true
    this.#savedAtMs = nowMs
    this.#at = at
    return true
  }

  async #deliveriesOf(entry: AuditEntry, webhook: StoredWebhook): Promise<readonly StoredDelivery[]> {
    const { since, until } = this.span
    if (entry.at < since || (until !== null && entry.at >= until) || !mayInterest(webhook, entry)) return []
    const now = this.deps.clock.now().toISOString()
    const events = await this.deps.source.eventsOf(entry)
    return events
      .filter((event) => interests(webhook, event))
      .map((event) => newDelivery(this.name, webhook.id, event, now))
  }
}

/** Returns how many of the entries fit: at least as many as there is room for deliveries. */
function take(made: readonly (readonly StoredDelivery[])[], room: number): number {
  let count = 0
  for (const [index, { length }] of made.entries()) {
    if (count >= room) return index
    count += length
  }
  return made.length
}

function passed(at: Positions, { entries }: LogPage, taken: number): Positions {
  return entries.slice(0, taken).reduce(behind, at)
}

const IS_SENT: ReadonlySet<string> = new Set(EVENT_TYPES)

/** Whether building the events of an entry is worthwhile. */
function mayInterest(webhook: StoredWebhook, { type, data, subject }: AuditEntry): boolean {
  return typesOfChange(type, data.effect).some((one) => interests(webhook, { type: one, subject }))
}

/** Whether a webhook receives an event. It receives none about itself. */
function interests(webhook: StoredWebhook, event: { type: string; subject: string }): boolean {
  return IS_SENT.has(event.type) && event.subject !== webhook.id && asksFor(webhook, event)
}

/** Whether a webhook, as it is now, wants events of this type. Test events are always wanted. */
export function asksFor({ events }: StoredWebhook, { type }: { readonly type: string }): boolean {
  return type === 'webhook.test' || events === null || events.includes(type as EventType)
}
