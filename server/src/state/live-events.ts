/**
 * Live events: streams of what happens to decisions. The end of the logs is read once for all streams, while there are
 * any, and is kept for a while. So the cost of a stream depends on what its reader takes, and a slow reader costs no
 * more than a fast one.
 */
import { KeyedMutex } from '../concurrency/keyed-mutex.js'
import { withDeadline } from '../concurrency/with-deadline.js'
import { DomainError } from '../domain-error.js'
import type { LivePage, LiveSource } from '../ports/live-page.js'
import type { Log } from '../ports/log.js'
import type { LogPosition } from '../ports/store/audit.js'
import type { StoredDecision } from '../ports/store/documents.js'
import { StoreUnavailableError } from '../ports/store/errors.js'
import type { Positions } from '../ports/store/feed.js'
import type { RingLimits } from './live-ring.js'
import { LiveStream, type LiveStreamHost, type LiveStreamOptions } from './live-stream.js'
import { LiveTail } from './live-tail.js'
import { type LineOf, Shares } from './shares.js'

export interface LiveEventsOptions {
  readonly source: LiveSource
  /** Encodes positions as the id of an event. */
  readonly seal: (positions: Positions) => string
  readonly log: Log
  /** Whether an entry is durable. Must know it also when the source reads from a MongoDB server that does not show it yet. */
  readonly hasEntry: (position: LogPosition) => Promise<boolean>
  /** Returns the keys that a key descends from, first ancestor first, and the key itself. Without it, just the key. */
  readonly lineOf?: LineOf
  /** A monotonic clock. */
  readonly nowMs?: () => number
  readonly ringLimits?: RingLimits
}

interface OpenOptions extends Omit<LiveStreamOptions, 'from'> {
  /** Null: start with the events from now on. */
  readonly from: Positions | null
  /** Ends the stream. */
  readonly signal: AbortSignal
}

/** The limit of a process, shared by all keys; the same number may wait for its start. */
export const MAX_STREAMS = 1000
const MAX_STREAMS_PER_KEY = 100
/** Other processes do not announce their writes, and readers whose time is over do not announce that either. */
const LOOK_EVERY_MS = 1000
/** The number of entries in such a page. They are turned into text in one go. */
const PAGE_ENTRIES = 100
/** How long a stream may wait for the server to find the end of the logs. */
const BEGIN_MS = 8000
const REPORT_EVERY_MS = 10_000
const OF_WHOM = { all: 'this server', line: 'this key and its related keys', key: 'this key' } as const

export class LiveEvents {
  private readonly streams = new Set<LiveStream>()
  private readonly shares: Shares
  private readonly reads = new KeyedMutex()
  private readonly nowMs: () => number
  private readonly host: LiveStreamHost
  private tail: LiveTail | null = null
  private look: NodeJS.Timeout | null = null
  private reportedAtMs = Number.NEGATIVE_INFINITY

  constructor(private readonly options: LiveEventsOptions) {
    this.nowMs = options.nowMs ?? (() => performance.now())
    this.shares = new Shares(MAX_STREAMS, options.lineOf ?? (() => []), MAX_STREAMS_PER_KEY)
    const ring = () => this.tail?.ring ?? null
    this.host = {
      get ring() {
        return ring()
      },
      seal: options.seal,
      nowMs: this.nowMs,
      readPage: (stream, positions) => this.readPage(stream, positions),
      left: (stream) => this.left(stream),
      fellBehind: ({ keyId }) =>
        options.log.info({ key_id: keyId }, 'closed a stream of live events whose reader is too slow'),
    }
  }

  get size(): number {
    return this.streams.size
  }

  /** Call this after a write. Costs next to nothing. */
  wake(): void {
    this.tail?.wake()
  }

  /**
   * Stops all streams from showing the erased requests of these decisions. Erasures by other processes arrive with the
   * log.
   */
  forget(decisions: readonly Pick<StoredDecision, 'id' | 'request_erased_at'>[]): void {
    this.tail?.ring?.forget(
      decisions.flatMap(({ id, request_erased_at: erased_at }) => (erased_at ? [{ decision_id: id, erased_at }] : [])),
    )
  }

  /**
   * Opens a stream. It is counted until its signal is aborted.
   *
   * @throws DomainError rate_limited, when there are too many; invalid_cursor; StoreUnavailableError
   */
  async open({ from, signal, ...options }: OpenOptions): Promise<LiveStream> {
    const leave = this.enter(options.keyId)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    const end = await this.presentEnd()
    if (from !== null) await this.assertWithin(end, from)
    const stream = new LiveStream(this.host, { ...options, from: from ?? end })
    if (signal.aborted) {
      stream.close()
      return stream
    }
    signal.addEventListener('abort', () => stream.close(), { once: true })
    this.streams.add(stream)
    if (this.streams.size === 1) this.start()
    return stream
  }

  /**
   * @returns a function to call once, when the stream has ended
   * @throws DomainError rate_limited
   */
  private enter(keyId: string): () => void {
    const groups = this.shares.groupsOf(keyId)
    const full = this.shares.fullGroup(groups)
    if (full !== undefined)
      throw new DomainError('rate_limited', {
        detail: `${full.limit} streams of ${OF_WHOM[full.whose]} are open. Close one, then retry.`,
        headers: { 'Retry-After': '5' },
      })
    this.shares.count(groups, 1)
    return () => this.shares.count(groups, -1)
  }

  /** Streams that open together share a read that begins after all of them arrived. */
  private async presentEnd(): Promise<Positions> {
    const read = this.reads.join('end', () => this.options.source.readEvents(null, 0))
    const late = () => new StoreUnavailableError(`The end of the audit logs was not found within ${BEGIN_MS} ms.`)
    return (await withDeadline(read, BEGIN_MS, late)).positions
  }

  /**
   * A reader's position is past the end only if the store was restored to an older state. Continuing would skip the
   * entries that replace the lost ones.
   *
   * @throws DomainError invalid_cursor
   */
  private async assertWithin(end: Positions, from: Positions): Promise<void> {
    for (const [log, next] of Object.entries(end)) {
      const index = (from[log] ?? 0) - 1
      if (index >= next && !(await this.options.hasEntry({ log, index })))
        throw new DomainError('invalid_cursor', {
          detail:
            'The audit log ends before this event: the store was restored to an earlier state. Read the lists, and start without an id.',
        })
    }
  }

  private start(): void {
    this.tail = new LiveTail({
      source: this.options.source,
      seal: this.options.seal,
      nowMs: this.nowMs,
      ...(this.options.ringLimits && { ringLimits: this.options.ringLimits }),
      onMove: () => this.turn(),
      onError: (error) => this.failed(error),
    })
    this.look = setInterval(() => {
      this.turn()
      this.wake()
    }, LOOK_EVERY_MS).unref()
  }

  private turn(): void {
    for (const stream of this.streams) stream.turn()
  }

  private left(stream: LiveStream): void {
    if (!this.streams.delete(stream) || this.streams.size > 0) return
    this.tail?.stop()
    this.tail = null
    if (this.look !== null) clearInterval(this.look)
  }

  private async readPage(stream: LiveStream, positions: Positions): Promise<LivePage | null> {
    try {
      // Reads run one at a time, so that the other work of the feed does not wait for many.
      return await this.reads.run('page', async () =>
        this.streams.has(stream) ? this.options.source.readEvents(positions, PAGE_ENTRIES) : null,
      )
    } catch (error) {
      this.failed(error)
      return null
    }
  }

  private failed(err: unknown): void {
    if (this.nowMs() - this.reportedAtMs < REPORT_EVERY_MS) return
    this.reportedAtMs = this.nowMs()
    this.options.log.error({ err }, 'live events could not be read; streams continue when they can')
  }
}
