/** Parses server-sent events as the HTML standard defines them: bytes in, events out. */

/** One event of a stream. */
export interface ServerSentEvent {
  /** The id of the last `id` line so far, in this event or before; undefined before the first. */
  readonly id: string | undefined
  /** `message` when the event has no type. */
  readonly type: string
  readonly data: string
}

const MAX_EVENT_BYTES = 1024 * 1024
const LF = 0x0a
const CR = 0x0d
const BYTE_ORDER_MARK = '\u{feff}'

export class EventTooLarge extends Error {
  constructor() {
    super('an event is too large')
  }
}

/** Parses one stream. Data without a blank line after it when the stream ends was cut off, and is not an event. */
export class EventStreamParser {
  readonly #maxBytes: number
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** The incomplete line. Lines are split as bytes: in UTF-8 no other character has a byte that is CR or LF. */
  #line: Uint8Array[] = []
  #lineBytes = 0
  /** The bytes of the lines of the incomplete event. */
  #eventBytes = 0
  #isFirstLine = true
  /** The last byte was a CR: an LF after it belongs to the same end of line. */
  #endedInCr = false
  #id: string | undefined
  #type = ''
  #data: string[] = []
  #lastEventId: string | undefined
  #retryMs: number | undefined

  constructor(maxBytes = MAX_EVENT_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** The id to resume from: the last `id` that a blank line has followed, with or without data. */
  get lastEventId(): string | undefined {
    return this.#lastEventId
  }

  /** How long to wait before reconnecting, as the server last asked. */
  get retryMs(): number | undefined {
    return this.#retryMs
  }

  /**
   * Yields the events that end in this chunk, oldest first.
   *
   * @throws EventTooLarge as soon as an event is too large; nothing more can be read then
   */
  *push(chunk: Uint8Array): Generator<ServerSentEvent, void, undefined> {
    let start = 0
    for (let at = 0; at < chunk.byteLength; at += 1) {
      const byte = chunk[at]
      const isSecondHalf = byte === LF && this.#endedInCr
      this.#endedInCr = byte === CR
      if (isSecondHalf) start = at + 1
      else if (byte === LF || byte === CR) {
        this.#grow(chunk.subarray(start, at))
        start = at + 1
        const event = this.#endLine()
        if (event !== undefined) yield event
      }
    }
    this.#grow(chunk.subarray(start))
  }

  #grow(part: Uint8Array): void {
    if (part.byteLength === 0) return
    this.#lineBytes += part.byteLength
    if (this.#lineBytes + this.#eventBytes > this.#maxBytes) throw new EventTooLarge()
    this.#line.push(part)
  }

  #endLine(): ServerSentEvent | undefined {
    const parts = this.#line
    const bytes = this.#lineBytes
    this.#line = []
    this.#lineBytes = 0
    let line = parts.map((part) => this.#decoder.decode(part, { stream: true })).join('') + this.#decoder.decode()
    if (this.#isFirstLine && line.startsWith(BYTE_ORDER_MARK)) line = line.slice(BYTE_ORDER_MARK.length)
    this.#isFirstLine = false
    if (line === '') return this.#endEvent()
    // Comments are not part of an event, so any number of them does not make it too large.
    if (line.startsWith(':')) return undefined
    this.#eventBytes += bytes
    const colon = line.indexOf(':')
    const [name, value] = colon === -1 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
    this.#takeField(name, value)
    return undefined
  }

  #takeField(name: string, value: string): void {
    if (name === 'data') this.#data.push(value)
    else if (name === 'event') this.#type = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
    else if (name === 'retry' && /^\d+$/.test(value)) this.#retryMs = Number(value)
  }

  /** An event without data only moves the id: the server reports its position when it has nothing to send. */
  #endEvent(): ServerSentEvent | undefined {
    const data = this.#data
    const type = this.#type || 'message'
    this.#data = []
    this.#type = ''
    this.#eventBytes = 0
    this.#lastEventId = this.#id
    const text = data.join('\n')
    return text === '' ? undefined : { id: this.#lastEventId, type, data: text }
  }
}
