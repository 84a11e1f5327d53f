/** An answer to be sent: `body` as JSON, or `text` as it is; without either it has no body. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly text?: string | Buffer
  /** The API key of the caller. For the log; it is not sent. */
  readonly keyId?: string | undefined
}
