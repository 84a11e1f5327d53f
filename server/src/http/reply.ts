/** The answer of a handler. Its body is one of the next three members, or absent. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A body to send as JSON. */
  readonly body?: unknown
  /** A body to send unchanged. */
  readonly text?: string | Buffer
  /** A body to send piece by piece, as fast as the caller reads. Only for a route that `isUnbounded`. */
  readonly stream?: AsyncIterable<string | Uint8Array>
  /** Abort it to end the stream, even if the caller is not reading. */
  readonly cutOff?: AbortSignal
}

/** A reply, with what else the response and the log need. */
export interface Answer {
  readonly reply: Reply
  readonly requestId: string
  /** The caller's API key; undefined when the request had no valid one. */
  readonly keyId: string | undefined
}
