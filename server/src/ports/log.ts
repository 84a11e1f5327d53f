/** Structured log lines. Fields never contain keys, tokens, secrets or parts of a request's context. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
