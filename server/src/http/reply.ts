/** An answer before it is bytes: `body` as JSON, or `text` as it is; with neither it has no body. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly text?: string | Buffer
  /** The API key that asked. For the log: it is no part of the answer. */
  readonly keyId?: string | undefined
}
