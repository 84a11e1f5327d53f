import type { LiveType } from '@countersign/contract'
import type { Positions } from '@countersign/store-port/feed'
import { type Caller, maySpeakFor } from '../caller.js'
import type { LivePage } from '../ports/live-page.js'
import { eventText, heartbeatText, idLine, openingText } from './event-stream-text.js'
import { furthest, reaches } from './live-positions.js'
import { type Batch, factsOf, type LiveFacts, type LiveRing } from './live-ring.js'

/** Which events a stream has: those that have all of these. */
export interface LiveFilter extends Partial<Omit<LiveFacts, 'type'>> {
  readonly types?: ReadonlySet<LiveType>
}

/** What a stream needs of the hub. */
export interface LiveStreamHost {
  /** Null until the end of the log is known. */
  readonly ring: LiveRing | null
  readonly seal: (positions: Positions) => string
  readonly nowMs: () => number
  /** Events behind these positions, for this stream alone. Null: there was no answer. */
  readPage(stream: LiveStream, positions: Positions): Promise<LivePage | null>
  left(stream: LiveStream): void
  /** The ring no longer has what comes next for a stream. */
  fellBehind(stream: LiveStream): void
}

export interface LiveStreamOptions {
  readonly keyId: string
  /** Who reads, as of now. @throws when it may not any more */
  readonly callerNow: () => Pick<Caller, 'key'>
  readonly filter: LiveFilter
  readonly from: Positions
}

/** It is looked at each second, so that a reader hears something at least every 15 s. */
const SILENCE_MS = 14_000
/** A reader that gets nothing while its stream passes over old events hears so often how far it has come. */
const MARK_MS = 1000
/** How long a reader that has not taken what it got last may hold up the end of its stream. */
const END_GRACE_MS = 1000

/**
 * The stream of one reader, pulled by its connection: what a reader does not take stays where it is, in the ring or in the
 * log, and not in a buffer of its own.
 *
 * It begins with pages of its own. When the ring has all that comes next, it goes on there. Another reader of the logs may
 * have found their entries in another order: until the ring is past everything that the stream has read by itself, each
 * entry is looked at.
 */
export class LiveStream {
  readonly keyId: string
  private readonly cut = new AbortController()
  /** Aborted when the connection is to be closed, because its reader does not take the rest. */
  readonly cutOff: AbortSignal = this.cut.signal
  /** Everything before them was sent or passed over. */
  private positions: Positions
  /** The next batch; null while it reads pages of its own. */
  private next: number | null = null
  /** Whether the ring has found nothing behind the positions of this stream that the stream has read already. */
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

  /** What is to be sent. Ends when the stream is closed, or its reader may not read any more. */
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

  /** To be called when there may be something new, and each second. */
  turn(): void {
    if (this.callerNow() === null) this.close()
    else if (this.host.ring !== null && this.next !== null && this.next < this.host.ring.first) {
      // Only a reader who does not take what it got is that far behind.
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

  /** `turn` has seen to it that the ring still has the next batch. */
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

  /** What this stream has not read by itself. Its ids are its own: they are behind what it has read. */
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

  /** What tells the reader how far its stream has come, when it has heard nothing for a while. */
  private mark(isOnTheWay: boolean): Uint8Array | null {
    const silentMs = this.host.nowMs() - this.sentAtMs
    const hasMoved = !reaches(this.sentPositions, this.positions)
    if (silentMs < (isOnTheWay && hasMoved ? MARK_MS : SILENCE_MS)) return null
    return Buffer.from(heartbeatText(hasMoved ? this.host.seal(this.positions) : null))
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
