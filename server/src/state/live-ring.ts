import type { LiveEvent, LiveType } from '@countersign/contract'
import type { Positions } from '@countersign/store-port/feed'
import type { LivePage } from '../ports/live-page.js'
import { eventText, idLine } from './event-stream-text.js'
import { reaches } from './live-positions.js'

/** What streams can ask for, as of the event. */
export interface LiveFacts {
  readonly type: LiveType
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  readonly effect: string
  readonly status: string
  readonly policy_id: string
  readonly request_hash: string
}

interface RingEvent {
  readonly facts: LiveFacts
  readonly log: string
  readonly index: number
  readonly positions: Positions
  /** The event with its id. A part of the bytes of its batch. */
  readonly bytes: Buffer
  /** How many of them are the line of the id. */
  readonly idLength: number
}

/** Events that were read together. Streams that want all of them send the same bytes. */
export interface Batch {
  readonly events: readonly RingEvent[]
  readonly bytes: Buffer
  /** Behind the last event. */
  readonly positions: Positions
}

/** How much the ring keeps for streams that are behind. The page that was read last is there in any case. */
export interface RingLimits {
  readonly events: number
  readonly bytes: number
}

const RING_LIMITS: RingLimits = { events: 8192, bytes: 8 * 1024 * 1024 }
/** A batch is written to a connection at once. */
const BATCH_BYTES = 64 * 1024

/** The newest live events, as text, for all streams. */
export class LiveRing {
  /** The number of the oldest batch. */
  first = 0
  /** Behind what has left the ring. */
  private start: Positions
  private readonly batches: Batch[] = []
  private events = 0
  private bytes = 0

  /** @param end behind everything that was read so far */
  constructor(
    public end: Positions,
    private readonly seal: (positions: Positions) => string,
    private readonly limits: RingLimits = RING_LIMITS,
  ) {
    this.start = end
  }

  add(page: LivePage): void {
    this.end = page.positions
    const known = this.batches.length
    let group: RingEvent[] = []
    let bytes = 0
    const close = (): void => {
      if (group.length > 0) this.batches.push(batchOf(group))
      group = []
      bytes = 0
    }
    for (const { event, ...place } of page.events) {
      const id = idLine(this.seal(place.positions))
      const text = Buffer.from(id + eventText(event))
      if (bytes + text.length > BATCH_BYTES) close()
      group.push({ ...place, facts: factsOf(event), bytes: text, idLength: id.length })
      bytes += text.length
      this.bytes += text.length
    }
    close()
    this.events += page.events.length
    this.evict(known)
  }

  /** Whether the ring has every event behind these positions. */
  isIn(positions: Positions): boolean {
    return reaches(positions, this.start)
  }

  /** Undefined behind the newest, and for one that has left. */
  batch(number: number): Batch | undefined {
    return this.batches[number - this.first]
  }

  private evict(most: number): void {
    for (let left = most; left > 0 && this.isTooLarge(); left -= 1) {
      const { events, bytes, positions } = this.batches.shift() as Batch
      this.first += 1
      this.start = positions
      this.events -= events.length
      this.bytes -= bytes.length
    }
  }

  private isTooLarge(): boolean {
    return this.events > this.limits.events || this.bytes > this.limits.bytes
  }
}

function batchOf(group: readonly RingEvent[]): Batch {
  const bytes = Buffer.concat(group.map((event) => event.bytes))
  let start = 0
  const events = group.map((event) => {
    const end = start + event.bytes.length
    const placed = { ...event, bytes: bytes.subarray(start, end) }
    start = end
    return placed
  })
  return { events, bytes, positions: (group.at(-1) as RingEvent).positions }
}

export function factsOf({ type, data }: LiveEvent): LiveFacts {
  const { agent_id, action, resource, effect, status, policy_id, request_hash } = data
  return { type, agent_id, action, resource, effect, status, policy_id, request_hash }
}
