import type { LiveType } from '@countersign/contract'
import { type Caller, maySpeakFor } from '../caller.js'
import type { LivePage } from '../ports/live-page.js'
import type { Positions } from '../ports/store/feed.js'
import { eventText, heartbeatText, idLine, openingText } from './event-stream-text.js'
import { furthest, reaches } from './live-positions.js'
import { type Batch, factsOf, type LiveFacts, type LiveRing } from './live-ring.js'

/** Selects the events of a stream: those that match all of these. */
export interface LiveFilter extends Partial<Omit<LiveFacts, 'type'>> {
  readonly types?: ReadonlySet<LiveType>
}

/** The parts of the hub that a stream needs. */
export interface LiveStreamHost {
  /** Null until the end of the log is known. */
  readonly ring: LiveRing | null
  readonly seal: (positions: Positions) => string
  readonly nowMs: () => number
  /** Reads the events after these positions, for this stream alone. Null: the read failed. */
  readPage(stream: LiveStream, positions: Positions): Promise<LivePage | null>
  left(stream: LiveStream): void
  /** Called when the ring no longer has the next batch of a stream. */
  fellBehind(stream: LiveStream): void
}

export interface LiveStreamOptions {
  readonly keyId: string
  /** Returns the reader as of now. @throws when it has lost access */
  readonly callerNow: () => Pick<Caller, 'key'>
  readonly filter: LiveFilter
  readonly from: Positions
}

/** Checked each second, so that a reader receives something at least every 15 s. */
const SILENCE_MS = 14_000
/** How often a reader gets its position while its stream skips old events. */
const MARK_MS = 1000
/** How long a reader that does not take the last bytes may delay the end of its stream. */
const END_GRACE_MS = 1000

/**
 * The stream of one reader, pulled by its connection: what a reader does not take stays in the ring or in the log, not
 * in a separate buffer.
 *
 * A stream begins with its own pages and continues with the ring as soon as the ring has everything that comes next.
 * The ring may have read the entries of several logs in another order: until it is past everything that the stream has
 * read itself, each entry is checked.
 */
export class LiveStream {
  readonly keyId: string
  private readonly cut = new AbortController()
  /** Aborted to close the connection, because its reader does not take the rest. */
  readonly cutOff: AbortSignal = this.cut.signal
  /** Everything before these positions was sent or skipped. */
  private positions: Positions
  /** The next batch of the ring; null while the stream reads its own pages. */
  private next: number | null = null
  /** Whether no later entry of the ring was read by this stream already. */
  private isInStep = false
  private isClosed = false
  /** Whether the connection has taken everything and waits for more. */
  private isPulled = false
  private hasBegun = false
  private resume: (() => void) | null = null
  private sentAtMs: number
  private sentPositions: Positions

  private readonly types: ReadonlySet<LiveType> | undefined
  /** Names and values that an event must have. */
  private readonly wanted: readonly (readonly [name: keyof LiveFacts, value: string])[]

  constructor(
    private readonly host: LiveStreamHost,
    private readonly options: LiveStreamOptions,
  ) {
    const { types, ...wanted } = options.filter
    this.types = types
    this.wanted = Object.entries(wanted) as [keyof LiveFacts, string][]
    this.keyId = options.keyId
    this.positions = options.from
    this.sentPositions = options.from
    this.sentAtMs = host.nowMs()
  }

  /** Yields the bytes to send. Ends when the stream is closed, or its reader loses access. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    this.hasBegun = true
    try {
      if (this.isClosed) return
      yield Buffer.from(openingText(this.host.seal(this.positions)))
      for (;;) {
        this.isPulled = true
        const chunk = await this.nextChunk()
        this.isPulled = false
        if (chunk === null) return
        this.sentAtMs = this.host.nowMs()
        this.sentPositions = this.positions
        yield chunk
      }
    } finally {
      this.isPulled = true
      this.close()
    }
  }

  /** Call this when there may be something new, and each second. */
  turn(): void {
    if (this.callerNow() === null) this.close()
    else if (this.host.ring !== null && this.next !== null && this.next < this.host.ring.first) {
      // Only a reader that does not take its data lags this far.
      this.host.fellBehind(this)
      this.close()
      this.cut.abort()
    } else this.wake()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.host.left(this)
    this.wake()
    if (this.hasBegun && !this.isPulled)
      setTimeout(() => {
        if (!this.isPulled) this.cut.abort()
      }, END_GRACE_MS).unref()
  }

  private wake(): void {
    this.resume?.()
    this.resume = null
  }

  private callerNow(): Pick<Caller, 'key'> | null {
    try {
      return this.options.callerNow()
    } catch {
      return null
    }
  }

  private async nextChunk(): Promise<Uint8Array | null> {
    while (!this.isClosed) {
      const { ring } = this.host
      if (this.next === null && ring?.isIn(this.positions)) this.next = ring.first
      let chunk: Uint8Array | null = null
      let hasMoved = false
      if (ring !== null && this.next !== null) chunk = this.ofRing(ring, this.next)
      else if (ring !== null) {
        const page = await this.host.readPage(this, this.positions)
        hasMoved = page !== null && !reaches(this.positions, page.positions)
        if (page !== null) chunk = this.ofPage(page)
      }
      if (this.isClosed) return null
      chunk ??= this.mark(hasMoved)
      if (chunk !== null) return chunk
      if (!hasMoved)
        await new Promise<void>((resolve) => {
          this.resume = resolve
        })
    }
    return null
  }

  private ofPage(page: LivePage): Uint8Array | null {
    const caller = this.callerOrClose()
    if (caller === null) return null
    const wanted = page.events.filter(({ event }) => this.wants(factsOf(event), caller))
    this.positions = page.positions
    if (wanted.length === 0) return null
    const { seal } = this.host
    return Buffer.from(wanted.map(({ event, positions }) => idLine(seal(positions)) + eventText(event)).join(''))
  }

  /** `turn` has made sure that the ring still has the next batch. */
  private ofRing(ring: LiveRing, next: number): Uint8Array | null {
    for (let number = next, batch = ring.batch(number); batch !== undefined; batch = ring.batch(number)) {
      const caller = this.callerOrClose()
      if (caller === null) return null
      number += 1
      this.next = number
      const chunk = this.isInStep ? this.wantedOf(batch, caller) : this.unseenOf(batch, caller)
      if (chunk !== null) return chunk
    }
    this.isInStep ||= reaches(ring.end, this.positions)
    this.positions = furthest(ring.end, this.positions)
    return null
  }

  private wantedOf(batch: Batch, caller: Pick<Caller, 'key'>): Uint8Array | null {
    this.positions = batch.positions
    const wanted = batch.events.filter(({ facts }) => this.wants(facts, caller))
    if (wanted.length === batch.events.length) return batch.bytes
    return wanted.length === 0 ? null : Buffer.concat(wanted.map(({ bytes }) => bytes))
  }

  /**
   * Returns the events that this stream has not read itself. Their ids are its own: they contain the positions after
   * what it has read.
   */
  private unseenOf(batch: Batch, caller: Pick<Caller, 'key'>): Uint8Array | null {
    const unseen: Uint8Array[] = []
    for (const { facts, log, index, positions, bytes, idLength } of batch.events) {
      if (index < (this.positions[log] ?? 0)) continue
      this.positions = furthest(positions, this.positions)
      if (!this.wants(facts, caller)) continue
      unseen.push(Buffer.from(idLine(this.host.seal(this.positions))), bytes.subarray(idLength))
    }
    this.isInStep = reaches(batch.positions, this.positions)
    this.positions = furthest(batch.positions, this.positions)
    return unseen.length === 0 ? null : Buffer.concat(unseen)
  }

  /** Tells the reader how far its stream has come, after a while without data. */
  private mark(isOnTheWay: boolean): Uint8Array | null {
    const silentMs = this.host.nowMs() - this.sentAtMs
    const hasMoved = !reaches(this.sentPositions, this.positions)
    if (silentMs < (isOnTheWay && hasMoved ? MARK_MS : SILENCE_MS)) return null
    return Buffer.from(heartbeatText(this.host.seal(this.positions)))
  }

  private wants(facts: LiveFacts, caller: Pick<Caller, 'key'>): boolean {
    if (this.types?.has(facts.type) === false) return false
    for (const [name, value] of this.wanted) if (facts[name] !== value) return false
    return maySpeakFor(caller, facts.agent_id)
  }

  private callerOrClose(): Pick<Caller, 'key'> | null {
    const caller = this.callerNow()
    if (caller === null) this.close()
    return caller
  }
}
