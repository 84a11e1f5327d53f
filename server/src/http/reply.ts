/** An answer before it is bytes. `body` undefined sends none. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}
