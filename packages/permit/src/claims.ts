import type { PermitClaims } from '@countersign/contract'

/** The longest lifetime of a permit, in seconds. */
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
  const { log, index, leaf } = value as Partial<Record<keyof PermitClaims['audit'], unknown>>
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

/** Created once: a server checks the claims of each permit that it signs. */
const CHECKS = Object.entries(CLAIM_CHECKS)

/**
 * Returns the first claim that is missing or has the wrong type; null when all are well-formed. Unknown claims are
 * allowed.
 */
export function findIllFormedClaim(claims: { readonly [claim: string]: unknown }): string | null {
  for (const [claim, check] of CHECKS) if (!check(claims[claim])) return claim
  return null
}
