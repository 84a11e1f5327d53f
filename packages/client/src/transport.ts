/**
 * The port between the SDK and the network. A transport sends one request once: it follows no redirects, retries only
 * after an idle connection that the server had closed, and reads at most `maxBytes` of an answer.
 */
export interface Transport {
  /**
   * Resolves with the complete answer, whatever its status.
   *
   * Rejects with the signal's reason once it is aborted, with `AnswerTooLarge`, or with any other error for a
   * connection fault.
   */
  send(request: TransportRequest): Promise<TransportAnswer>
  /**
   * Resolves when the head of the answer has arrived, whatever its status.
   *
   * Rejects as `send` does, and so do the chunks. The connection lasts until the last chunk, or until the signal is
   * aborted.
   */
  stream(request: TransportRequest): Promise<TransportStream>
  /** Ends every open connection; idempotent. */
  close(): void
}

export interface TransportRequest {
  readonly method: string
  /** Absolute, with the query. */
  readonly url: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
  /** The server was asked to wait, so no other request should have to wait for this one's connection. */
  readonly isLongPoll: boolean
}

interface TransportHead {
  readonly status: number
  /** Returns the header's value, or null; takes a lower-case name. */
  header(name: string): string | null
}

export interface TransportAnswer extends TransportHead {
  readonly body: Uint8Array
}

/** An answer whose body is read as it arrives. */
export interface TransportStream extends TransportHead {
  /** Can be read once. Chunks are read from the network only when they are requested. */
  readonly chunks: AsyncIterable<Uint8Array>
}

export interface TransportOptions {
  /** Time for TCP and TLS together, where the platform can measure it. */
  readonly connectTimeoutMs: number
  readonly maxBytes: number
}

export type OpenTransport = (options: TransportOptions) => Transport

/**
 * The largest answer that is read: larger than 200 decisions with the largest contexts, or 50 of the largest policies.
 */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** Opens the transport of a client. */
export function transportOf(
  { connectTimeoutMs }: Pick<TransportOptions, 'connectTimeoutMs'>,
  openTransport: OpenTransport,
): Transport {
  return openTransport({ connectTimeoutMs, maxBytes: MAX_ANSWER_BYTES })
}

export class AnswerTooLarge extends Error {
  readonly status: number

  constructor(status: number) {
    super('the answer is too large')
    this.status = status
  }
}

/** @throws AnswerTooLarge */
export async function wholeAnswer(stream: TransportStream, maxBytes: number): Promise<TransportAnswer> {
  const { status, chunks } = stream
  const collector = new BodyCollector(maxBytes)
  for await (const chunk of chunks) {
    if (!collector.add(chunk)) throw new AnswerTooLarge(status)
  }
  return { status, header: (name) => stream.header(name), body: collector.body() }
}

/** Collects the chunks of one body and refuses a chunk that would exceed the limit. */
export class BodyCollector {
  readonly #chunks: Uint8Array[] = []
  readonly #maxBytes: number
  #size = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Returns false when the chunk does not fit. */
  add(chunk: Uint8Array): boolean {
    this.#size += chunk.byteLength
    if (this.#size > this.#maxBytes) return false
    this.#chunks.push(chunk)
    return true
  }

  body(): Uint8Array {
    const [only] = this.#chunks
    if (only !== undefined && this.#chunks.length === 1) return only
    const whole = new Uint8Array(this.#size)
    let offset = 0
    for (const chunk of this.#chunks) {
      whole.set(chunk, offset)
      offset += chunk.byteLength
    }
    return whole
  }
}
