/** Live events that survive lost connections and restarts of the decision point. */
import { isRecord } from './answer.js'
import { nameOf } from './call.js'
import { EVENT_ENDPOINTS } from './endpoints.js'
import { ApiError } from './errors/api-error.js'
import { UnavailableError } from './errors/unavailable-error.js'
import { EventStreamParser, EventTooLarge, type ServerSentEvent } from './event-stream-parser.js'
import { callOf, type Given } from './operation.js'
import type { CallSignal } from './options.js'
import type { ReceivedEvent } from './received-event.js'
import type { Lasting } from './requester.js'
import { isPassing, reconnectDelayMs } from './retry.js'
import type { StreamRequester } from './stream-requester.js'

/** The server sends a heartbeat every 15 s. */
const SILENCE_MS = 45_000
/** A connection that lasted this long was useful, even without an event. */
const PATIENT_MS = 10_000
/** How many past events are recognized. A server that resumes too early repeats the last few. */
const KNOWN_COUNT = 1_000
const EVENT_ID = /^[\x21-\x7e]{1,8192}$/
/** Whether a value can be sent as an id to resume from. */
export function isEventId(value: unknown): value is string {
  return typeof value === 'string' && EVENT_ID.test(value)
}

type EventFilters = NonNullable<Given<'events.stream'>['query']>

/** A stream of events that continues after lost connections. */
export class EventStream {
  readonly #requester: StreamRequester
  readonly #filters: EventFilters
  readonly #onConnect: (() => void) | undefined
  readonly #known = new Set<string>()
  #lastEventId: string | undefined
  #retryMs: number | undefined

  constructor(
    requester: StreamRequester,
    filters: EventFilters,
    lastEventId: string | undefined,
    onConnect?: () => void,
  ) {
    this.#requester = requester
    this.#filters = filters
    this.#lastEventId = lastEventId
    this.#onConnect = onConnect
  }

  async *read(signal: CallSignal | undefined): AsyncGenerator<ReceivedEvent, void, undefined> {
    try {
      yield* this.#requester.lasting(signal, (lasting) => this.#reconnect(lasting))
    } catch (error) {
      if (!signal?.aborted) throw error
    }
  }

  async *#reconnect(lasting: Lasting): AsyncGenerator<ReceivedEvent, void, undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const startedMs = this.#requester.now()
      let retryAfterSeconds: number | null = null
      try {
        for await (const event of this.#connect(lasting)) {
          attempt = 0
          yield event
        }
      } catch (error) {
        if (lasting.signal.aborted || !isPassing(error)) throw error
        if (ApiError.isInstance(error)) retryAfterSeconds = error.retryAfterSeconds
      }
      if (attempt === 0 || this.#requester.now() - startedMs >= PATIENT_MS) attempt = 1
      const asked = { askedMs: this.#retryMs, retryAfterSeconds }
      await lasting.pause(reconnectDelayMs(attempt, asked, this.#requester.random()))
    }
  }

  /** Yields the events of one connection that were not known before. */
  async *#connect(lasting: Lasting): AsyncGenerator<ReceivedEvent, void, undefined> {
    const headers = this.#lastEventId === undefined ? {} : { 'last-event-id': this.#lastEventId }
    const call = callOf(EVENT_ENDPOINTS['events.stream'], { query: this.#filters, headers, options: undefined })
    const parser = new EventStreamParser()
    let isUp = false
    // A starting server sends comments until it knows where the stream begins. From then on nothing is missed.
    const begun = () => {
      if (!isUp) this.#onConnect?.()
      isUp = true
    }
    for await (const chunk of this.#requester.stream(call, 'text/event-stream', SILENCE_MS, lasting)) {
      for (const sent of eventsIn(parser, chunk)) {
        begun()
        const event = receivedEvent(sent)
        this.#lastEventId = event.id
        if (this.#isNew(event)) yield event
      }
      // Also for a message without an event, by which the server reports its position.
      if (isEventId(parser.lastEventId)) {
        begun()
        this.#lastEventId = parser.lastEventId
      }
      this.#retryMs = parser.retryMs ?? this.#retryMs
    }
  }

  #isNew({ type, timestamp, sequence, data }: ReceivedEvent): boolean {
    const key = JSON.stringify([data.id, type, sequence, timestamp])
    if (this.#known.has(key)) return false
    this.#known.add(key)
    const [oldest] = this.#known
    if (this.#known.size > KNOWN_COUNT && oldest !== undefined) this.#known.delete(oldest)
    return true
  }
}

function* eventsIn(parser: EventStreamParser, chunk: Uint8Array): Generator<ServerSentEvent, void, undefined> {
  try {
    yield* parser.push(chunk)
  } catch (error) {
    throw error instanceof EventTooLarge ? badEvent('an event is too large') : error
  }
}

function receivedEvent({ id, data: text }: ServerSentEvent): ReceivedEvent {
  if (!isEventId(id)) throw badEvent('an event has no id')
  const event = parseJson(text)
  if (!isRecord(event)) throw badEvent('an event is not a JSON object')
  const { type, timestamp, sequence, data } = event
  const isWhole =
    typeof type === 'string' &&
    typeof timestamp === 'string' &&
    (sequence === null || Number.isInteger(sequence)) &&
    isRecord(data) &&
    typeof data.id === 'string'
  if (!isWhole) throw badEvent('an event is not one of a decision')
  return { id, type, timestamp, sequence, data } as unknown as ReceivedEvent
}

// Sets no cause: the message of a SyntaxError quotes the text.
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function badEvent(what: string): UnavailableError {
  return new UnavailableError('bad_answer', `${nameOf(EVENT_ENDPOINTS['events.stream'])}: ${what}`, { status: 200 })
}
