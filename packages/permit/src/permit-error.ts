/** Why a permit was refused. Stable: programs may branch on it. docs/permits.md explains each one. */
export const PERMIT_ERROR_CODES = [
  'token_malformed',
  'token_too_large',
  'header_invalid',
  'header_member_not_allowed',
  'algorithm_not_allowed',
  'type_not_allowed',
  'key_unknown',
  'key_unusable',
  'key_set_unavailable',
  'signature_invalid',
  'claims_invalid',
  'issuer_mismatch',
  'audience_mismatch',
  'expired',
  'issued_in_future',
  'life_too_long',
  'effect_not_allowed',
  'expectation_missing',
  'action_mismatch',
  'resource_mismatch',
  'agent_mismatch',
  'amount_mismatch',
  'unit_mismatch',
  'request_hash_mismatch',
  'already_seen',
  'replay_check_failed',
] as const
export type PermitErrorCode = (typeof PERMIT_ERROR_CODES)[number]

const BRAND = Symbol.for('countersign.PermitError')

/**
 * A permit that must not be acted upon. `message` says what is wrong without repeating the token; `code` is stable.
 *
 * `instanceof` also recognizes the errors of another installed copy of this package.
 */
export class PermitError extends Error {
  override readonly name = 'PermitError'
  readonly [BRAND] = true
  /** Seconds after which another verification may succeed; null where time does not help, or the delay is unknown. */
  readonly retryAfterSeconds: number | null

  constructor(
    readonly code: PermitErrorCode,
    message: string,
    { retryAfterSeconds, ...options }: ErrorOptions & { readonly retryAfterSeconds?: number } = {},
  ) {
    super(message, options)
    this.retryAfterSeconds = retryAfterSeconds ?? null
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value
  }
}
