/** Where the audit entry of the decision stands: log, position and leaf hash (base64url). */
export interface PermitAuditEntry {
  readonly log: string
  readonly index: number
  readonly leaf: string
}

/**
 * What a permit says: this agent may run this action on this resource until `exp`.
 *
 * `iat` and `exp` are whole seconds since 1970. `resource` is null when the request named none. `amount` (with `unit`)
 * is there when a budget was reserved. `effect` is `review` once a reviewed decision has been claimed.
 *
 * Source: docs/permits.md "What a permit says".
 */
export interface PermitClaims {
  readonly iss: string
  /** The agent that asked. */
  readonly sub: string
  readonly aud: string
  readonly iat: number
  readonly exp: number
  /** The id of the decision. */
  readonly jti: string
  readonly action: string
  readonly resource: string | null
  readonly effect: 'allow' | 'log' | 'review'
  readonly policy_id: string
  readonly policy_revision: number
  readonly amount?: number
  readonly unit?: string
  /** base64url SHA-256 of the request, see `requestHash`. */
  readonly request_hash: string
  readonly audit: PermitAuditEntry
}

/** The longest life of a permit, in seconds. */
export const MAX_PERMIT_LIFE_SECONDS = 3600

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string' && value !== ''
const isNatural: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isHash: Check = (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{43}$/.test(value)
const orAbsent =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

const isAuditEntry: Check = (value) => {
  if (typeof value !== 'object' || value === null) return false
  const { log, index, leaf } = value as Partial<Record<keyof PermitAuditEntry, unknown>>
  return isText(log) && isNatural(index) && isHash(leaf)
}

const CLAIM_CHECKS: { readonly [claim in keyof Required<PermitClaims>]: Check } = {
  iss: isText,
  sub: isText,
  aud: isText,
  iat: isNatural,
  exp: isNatural,
  jti: isText,
  action: isText,
  resource: (value) => value === null || isText(value),
  effect: isText,
  policy_id: isText,
  policy_revision: isNatural,
  amount: orAbsent((value) => Number.isFinite(value) && (value as number) >= 0),
  unit: orAbsent(isText),
  request_hash: isHash,
  audit: isAuditEntry,
}

/** The first claim that is missing or of the wrong type, null when all are well-formed. Claims that we do not know are no fault. */
export function findIllFormedClaim(claims: { readonly [claim: string]: unknown }): string | null {
  for (const [claim, check] of Object.entries(CLAIM_CHECKS)) {
    if (!check(Object.hasOwn(claims, claim) ? claims[claim] : undefined)) return claim
  }
  return null
}
