import { ERRORS, type ErrorCode, type FieldError } from '@countersign/contract'

interface DomainErrorOptions {
  readonly detail?: string
  readonly errors?: readonly FieldError[]
  readonly currentStatus?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** A request that is refused for a reason in the catalogue. `http/problem.ts` turns it into the answer. */
export class DomainError extends Error {
  override readonly name = 'DomainError'
  readonly detail: string
  readonly errors: readonly FieldError[] | undefined
  readonly currentStatus: string | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    readonly code: ErrorCode,
    options: DomainErrorOptions = {},
  ) {
    const detail = options.detail ?? ERRORS[code].remedy
    super(`${code}: ${detail}`, { cause: options.cause })
    this.detail = detail
    this.errors = options.errors
    this.currentStatus = options.currentStatus
    this.headers = options.headers ?? {}
  }
}

/** A `validation_failed` that names every fault. */
export function invalid(errors: readonly FieldError[]): DomainError {
  const count = errors.length === 1 ? '1 problem' : `${errors.length} problems`
  return new DomainError('validation_failed', { detail: `${count} found; see \`errors\`.`, errors })
}
