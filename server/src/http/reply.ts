/** What a handler answers. The body is one of three, or absent. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** To be sent as JSON. */
  readonly body?: unknown
  /** To be sent as it is. */
  readonly text?: string | Buffer
  /** To be sent piece by piece, as fast as the caller reads. Only of a route that `isUnbounded`. */
  readonly stream?: AsyncIterable<string | Uint8Array>
  /** Aborted to cut the stream off, also while its caller does not read. */
  readonly cutOff?: AbortSignal
}

/** A reply with what the response and the log need besides. */
export interface Answer {
  readonly reply: Reply
  readonly requestId: string
  /** The API key of the caller; undefined when there was none that is valid. */
  readonly keyId: string | undefined
}
