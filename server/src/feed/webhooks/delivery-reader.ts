import { setImmediate as othersTurn } from 'node:timers/promises'
import { type AuditEntry, EVENT_TYPES, type EventType, typesOfChange } from '@countersign/contract'
import type { StoredDelivery, StoredWebhook } from '@countersign/store-port/documents'
import type { FeedReads, Positions } from '@countersign/store-port/feed'
import type { Clock } from '../../ports/clock.js'
import { behind, type LogPage, positionsAt } from '../log-reader.js'
import { Reader, type ReaderDeps } from '../reader.js'
import { newDelivery } from './delivery.js'
import type { EventSource } from './event-source.js'
import type { FailingRun } from './failing-run.js'

export interface DeliveryReaderDeps extends ReaderDeps {
  readonly store: ReaderDeps['store'] & Pick<FeedReads, 'listLogs' | 'readLog'>
  readonly clock: Clock
  readonly source: EventSource
}

/** Which entries are read, by their time. */
export interface Span {
  /** Inclusive. */
  readonly since: string
  /** Exclusive; null for no end. Whoever asked for a span with an end has saved its reader before anybody held it. */
  readonly until: string | null
}

/** So much is read in one go, when none of it is wanted. */
const MAX_PAGES = 16
/** Positions that no delivery came with are saved so seldom: reading what nobody wants costs no writes. */
const SAVED_EVERY_MS = 1000

/** The name of the reader that makes a webhook's deliveries of what happens. Those of its replays are `replay/<id>/…`. */
export function readerNameOf(webhookId: string): string {
  return `webhook/${webhookId}`
}

/** Makes deliveries for one endpoint of what is in the log: from when it was enabled on, or of a span that is sent once more. */
export class DeliveryReader {
  readonly #reader: Reader
  #fence: number | null = null
  #at: Positions = {}
  /** Behind the last entry of the span; null for no end. */
  #end: Positions | null = null
  #failing: FailingRun | null = null
  #isSaved = true
  #savedAtMs = Number.NEGATIVE_INFINITY
  #hasMore = true

  constructor(
    private readonly deps: DeliveryReaderDeps,
    readonly name: string,
    readonly span: Span,
    /** Whether the span may be read from its start, by what is durable now. */
    private readonly mayBegin: () => Promise<boolean> = async () => true,
  ) {
    this.#reader = new Reader(deps, name)
  }

  /** Since when the endpoint fails; it is kept with the next positions. */
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

  /** Whether everything of the span is read and saved. */
  get isDone(): boolean {
    const { until } = this.span
    if (until === null || this.#end === null || !this.#isSaved) return false
    return Object.entries(this.#end).every(([log, index]) => (this.#at[log] ?? 0) >= index)
  }

  /**
   * Takes the reader, or keeps it. False while another process has it, and when it may not begin. Another process may have
   * removed it before this one saw why: to begin then would send everything once more.
   */
  async hold(): Promise<boolean> {
    const held = await this.#reader.hold()
    if (held === null) {
      this.#fence = null
      return false
    }
    if (held.fence === this.#fence) return true
    const { store } = this.deps
    const { since, until } = this.span
    const isBegun = held.state.is_begun === true && held.state.since === since && held.positions !== null
    const isOver = until !== null && held.positions === null
    if (!isBegun && !isOver && !(await this.mayBegin())) return false
    this.#at = isBegun ? (held.positions as Positions) : isOver ? {} : await positionsAt(store, since)
    this.#end = until === null ? null : isOver ? {} : await positionsAt(store, until)
    this.#failing = isBegun ? ((held.state.failing ?? null) as FailingRun | null) : null
    this.#isSaved = isBegun || isOver
    this.#hasMore = true
    this.#fence = held.fence
    return true
  }

  /**
   * Reads on, until there are so many deliveries or nothing more to read, and saves them: they are new and due. An entry with
   * two events may make one more.
   */
  async read(webhook: StoredWebhook, room: number): Promise<readonly StoredDelivery[]> {
    const deliveries: StoredDelivery[] = []
    let at = this.#at
    let hasMore = true
    for (let pages = 0; hasMore && pages < MAX_PAGES && deliveries.length < room; pages += 1) {
      const page = await this.deps.source.read(at)
      hasMore = page.entries.length > 0
      if (!hasMore) break
      const made = await Promise.all(page.entries.map((entry) => this.#deliveriesOf(entry, webhook)))
      const taken = take(made, room - deliveries.length)
      deliveries.push(...made.slice(0, taken).flat())
      at = taken === made.length ? page.positions : passed(at, page, taken)
      // The store may answer at once, and the connections of all endpoints would wait.
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

/** How many of the entries fit: at least as many as there is room for deliveries. */
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

/** Whether it is worth while to make the events of an entry. */
function mayInterest(webhook: StoredWebhook, { type, data, subject }: AuditEntry): boolean {
  return typesOfChange(type, data.effect).some((one) => interests(webhook, { type: one, subject }))
}

/** Whether a webhook gets an event. It gets none about itself. */
function interests({ id, events }: StoredWebhook, { type, subject }: { type: string; subject: string }): boolean {
  return IS_SENT.has(type) && subject !== id && (events === null || events.includes(type as EventType))
}
