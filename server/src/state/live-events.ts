/**
 * Live events: streams of what happens to decisions. The end of the logs is read once for all streams, while there are any,
 * and is kept for a while. So a stream costs what its reader takes, and a slow reader costs no more than a fast one.
 */
import { KeyedMutex, withDeadline } from '@countersign/concurrency'
import type { StoredDecision } from '@countersign/store-port/documents'
import type { Positions } from '@countersign/store-port/feed'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { DomainError } from '../domain-error.js'
import type { LivePage } from '../ports/live-page.js'
import type { Log } from '../ports/log.js'
import type { RingLimits } from './live-ring.js'
import { LiveStream, type LiveStreamHost, type LiveStreamOptions } from './live-stream.js'
import { type LiveSource, LiveTail } from './live-tail.js'

export interface LiveEventsOptions {
  readonly source: LiveSource
  /** Makes positions into the id of an event. */
  readonly seal: (positions: Positions) => string
  readonly log: Log
  /** A monotonic clock. */
  readonly nowMs?: () => number
  readonly ringLimits?: RingLimits
}

interface OpenOptions extends Omit<LiveStreamOptions, 'from'> {
  /** Null: the events from now on. */
  readonly from: Positions | null
  /** Ends the stream. */
  readonly signal: AbortSignal
}

const MAX_STREAMS = 1000
const MAX_STREAMS_PER_KEY = 100
/** Other processes do not say that they have written. Readers whose time is over do not say so either. */
const LOOK_EVERY_MS = 1000
/** How many entries such a page has. They are made into text in one go. */
const PAGE_ENTRIES = 100
/** How long a stream may wait to learn where the logs end. */
const BEGIN_MS = 8000
const REPORT_EVERY_MS = 10_000

export class LiveEvents {
  private readonly streams = new Set<LiveStream>()
  private readonly byKey = new Map<string, number>()
  private readonly reads = new KeyedMutex()
  private readonly nowMs: () => number
  private readonly host: LiveStreamHost
  private tail: LiveTail | null = null
  private look: NodeJS.Timeout | null = null
  private reportedAtMs = Number.NEGATIVE_INFINITY

  constructor(private readonly options: LiveEventsOptions) {
    this.nowMs = options.nowMs ?? (() => performance.now())
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

  /** Something was written. Costs next to nothing. */
  wake(): void {
    this.tail?.wake()
  }

  /**
   * The requests of these decisions were erased: from now on no stream shows them. Erasures that another process makes come
   * with the log.
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
    this.assertRoom(options.keyId)
    const leave = this.enter(options.keyId)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    const end = await this.presentEnd()
    if (from !== null) assertWithin(end, from)
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

  private assertRoom(keyId: string): void {
    const counts: readonly (readonly [count: number, limit: number, of: string])[] = [
      [this.byKey.get(keyId) ?? 0, MAX_STREAMS_PER_KEY, 'this key'],
      [[...this.byKey.values()].reduce((sum, count) => sum + count, 0), MAX_STREAMS, 'this server'],
    ]
    for (const [count, limit, of] of counts)
      if (count >= limit)
        throw new DomainError('rate_limited', {
          detail: `${limit} streams of ${of} are open. Close one, then retry.`,
          headers: { 'Retry-After': '5' },
        })
  }

  /** @returns to be called once, when the stream has ended */
  private enter(keyId: string): () => void {
    this.byKey.set(keyId, (this.byKey.get(keyId) ?? 0) + 1)
    return () => {
      const left = (this.byKey.get(keyId) ?? 1) - 1
      if (left === 0) this.byKey.delete(keyId)
      else this.byKey.set(keyId, left)
    }
  }

  /** Streams that are opened together share a read that begins after all of them came. */
  private async presentEnd(): Promise<Positions> {
    const read = this.reads.join('end', () => this.options.source.readEvents(null, 0))
    const late = () => new StoreUnavailableError(`The end of the audit logs was not found within ${BEGIN_MS} ms.`)
    return (await withDeadline(read, BEGIN_MS, late)).positions
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
      // One after the other: what else the feed does must not wait for many.
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
    this.options.log.error({ err }, 'live events could not be read; streams go on when they can')
  }
}

/**
 * A reader knows of more than there is only when the store was set back. It would miss what comes in place of that.
 *
 * @throws DomainError invalid_cursor
 */
function assertWithin(end: Positions, from: Positions): void {
  for (const log in end)
    if ((from[log] ?? 0) > (end[log] as number))
      throw new DomainError('invalid_cursor', {
        detail:
          'The audit log ends before this event: the store was set back. Read the lists, and begin without an id.',
      })
}
