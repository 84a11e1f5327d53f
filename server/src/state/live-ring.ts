import type { LiveEvent, LiveType } from '@countersign/contract'
import type { ErasedRequest, LivePage } from '../ports/live-page.js'
import type { Positions } from '../ports/store/feed.js'
import { eventOfText, eventText, idLine } from './event-stream-text.js'
import { reaches } from './live-positions.js'

/** The facts of an event that streams can filter by, as of the event. */
export interface LiveFacts {
  readonly type: LiveType
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  readonly effect: string
  readonly status: string
  readonly policy_id: string
  readonly request_hash: string | null
}

interface RingEvent {
  readonly decision_id: string
  readonly facts: LiveFacts
  readonly log: string
  readonly index: number
  readonly positions: Positions
  /** The event with its id. A slice of the bytes of its batch. */
  readonly bytes: Buffer
  /** The length of the id line within the bytes. */
  readonly idLength: number
}

/** Events that were read together. Streams without a filter send the same bytes. */
export interface Batch {
  readonly events: readonly RingEvent[]
  readonly bytes: Buffer
  /** The positions after the last event. */
  readonly positions: Positions
}

/** How much the ring keeps for streams that lag. The last page that was read is always kept. */
export interface RingLimits {
  readonly events: number
  readonly bytes: number
}

const RING_LIMITS: RingLimits = { events: 8192, bytes: 8 * 1024 * 1024 }
/** A batch is written to a connection in one go. */
const BATCH_BYTES = 64 * 1024

/** The newest live events, as text, for all streams. */
export class LiveRing {
  /** The number of the oldest batch. */
  first = 0
  /** The positions after everything that has left the ring. */
  private start: Positions
  private readonly batches: Batch[] = []
  private events = 0
  private bytes = 0

  /** @param end the positions after everything that was read so far */
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
      const decision_id = event.data.id
      group.push({ ...place, decision_id, facts: factsOf(event), bytes: text, idLength: id.length })
      bytes += text.length
      this.bytes += text.length
    }
    close()
    this.events += page.events.length
    this.forget(page.erased)
    this.evict(known)
  }

  /** Removes the requests from the events of these decisions. The events, their order and their ids stay. */
  forget(erased: readonly ErasedRequest[]): void {
    if (erased.length === 0) return
    const times = new Map(erased.map(({ decision_id, erased_at }) => [decision_id, erased_at]))
    for (const [i, batch] of this.batches.entries()) {
      if (!batch.events.some(({ decision_id }) => times.has(decision_id))) continue
      const after = batchOf(batch.events.map((event) => withoutRequestOf(event, times.get(event.decision_id))))
      this.bytes += after.bytes.length - batch.bytes.length
      this.batches[i] = after
    }
  }

  /** Whether the ring has every event after these positions. */
  isIn(positions: Positions): boolean {
    return reaches(positions, this.start)
  }

  /** Undefined past the newest batch, and for a batch that has left the ring. */
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

function withoutRequestOf(ringEvent: RingEvent, erasedAt: string | undefined): RingEvent {
  if (erasedAt === undefined) return ringEvent
  const event = eventOfText(ringEvent.bytes.subarray(ringEvent.idLength).toString())
  if (event.data.request_erased_at !== undefined) return ringEvent
  const data = { ...event.data, resource: null, request_hash: null, request_erased_at: erasedAt }
  const after: LiveEvent = { ...event, data }
  const bytes = Buffer.concat([ringEvent.bytes.subarray(0, ringEvent.idLength), Buffer.from(eventText(after))])
  return { ...ringEvent, facts: factsOf(after), bytes }
}

export function factsOf({ type, data }: LiveEvent): LiveFacts {
  const { agent_id, action, resource, effect, status, policy_id, request_hash } = data
  return { type, agent_id, action, resource, effect, status, policy_id, request_hash }
}
