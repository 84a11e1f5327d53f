import type { LiveSource } from '../ports/live-page.js'
import type { Positions } from '../ports/store/feed.js'
import { entriesBetween } from './live-positions.js'
import { LiveRing, type RingLimits } from './live-ring.js'

export interface LiveTailOptions {
  readonly source: LiveSource
  readonly seal: (positions: Positions) => string
  readonly nowMs: () => number
  readonly ringLimits?: RingLimits
  /** Called after the ring has received something. */
  readonly onMove: () => void
  readonly onError: (error: unknown) => void
}

/** How many entries are read at a time. Their events are turned into text in one go. */
const PAGE_ENTRIES = 200
/** A page with this many entries suggests more, which are then read at once. */
const MANY_ENTRIES = PAGE_ENTRIES / 2
/** Writes within this time are read together. */
const GATHER_MS = 100

/** Reads the end of the logs for all streams, from its start until it is stopped. */
export class LiveTail {
  /** Null until the end of the logs is known. */
  ring: LiveRing | null = null
  private isReading = false
  /** Whether something was written during the read in progress. */
  private isBehind = false
  private isStopped = false
  private timer: NodeJS.Timeout | null = null
  private readAtMs = Number.NEGATIVE_INFINITY

  constructor(private readonly options: LiveTailOptions) {
    void this.read()
  }

  /** Call this after a possible write: it is read soon. */
  wake(): void {
    if (this.isStopped || this.timer !== null) return
    if (this.isReading) {
      this.isBehind = true
      return
    }
    const waitMs = Math.max(0, this.readAtMs + GATHER_MS - this.options.nowMs())
    this.timer = setTimeout(() => {
      this.timer = null
      void this.read()
    }, waitMs).unref()
  }

  stop(): void {
    this.isStopped = true
    if (this.timer !== null) clearTimeout(this.timer)
  }

  private async read(): Promise<void> {
    this.isReading = true
    try {
      for (let entries = MANY_ENTRIES; entries >= MANY_ENTRIES && !this.isStopped; ) {
        this.isBehind = false
        this.readAtMs = this.options.nowMs()
        entries = await this.readPage()
        this.isBehind ||= entries > 0
      }
    } catch (error) {
      if (!this.isStopped) this.options.onError(error)
    } finally {
      this.isReading = false
    }
    if (this.isBehind) this.wake()
  }

  /** @returns how many entries were read */
  private async readPage(): Promise<number> {
    const { source, seal, ringLimits, onMove } = this.options
    const { ring } = this
    const page = await source.readEvents(ring?.end ?? null, PAGE_ENTRIES)
    if (this.isStopped) return 0
    const entries = ring === null ? 0 : entriesBetween(ring.end, page.positions)
    if (ring === null) this.ring = new LiveRing(page.positions, seal, ringLimits)
    else ring.add(page)
    if (ring === null || page.events.length > 0) onMove()
    return entries
  }
}
