/** Verifies a permit in the browser with the server's public keys, as `@countersign/permit` does in Node.js. */
import type { Jwks, PermitClaims } from '@countersign/contract'
import { parseStrictJson } from '@countersign/contract/strict-json'
import { publicKeyOf, verifyEd25519 } from '../../verifier/ed25519'

/** `refused`: this server did not sign the permit. */
export type PermitCheck =
  | { readonly result: 'genuine'; readonly claims: PermitClaims; readonly time: 'in force' | 'over' | 'not begun' }
  | { readonly result: 'refused'; readonly why: string }

const MAX_LENGTH = 8192
const MAX_DEPTH = 32
const MAX_LIFE_SECONDS = 3600
/** How far the server's clock may be ahead of this one. */
const SKEW_MS = 5_000

const refused = (why: string): PermitCheck => ({ result: 'refused', why })

/**
 * Checks whether one of the keys signed the permit, and whether it is valid now.
 *
 * @param readKeys reads the server's key set; called only for a well-formed permit; its errors are passed on
 * @throws CannotVerifyError
 */
export async function verifyPermit(
  text: string,
  readKeys: () => Promise<Jwks>,
  nowMs = Date.now(),
): Promise<PermitCheck> {
  if (text.length > MAX_LENGTH) return refused('It is longer than 8 KiB. Permits never are.')
  const parts = text.split('.')
  const [header, payload, signature] = parts.map(decoded)
  if (parts.length !== 3 || !header || !payload || !signature)
    return refused('It does not look like a permit, which is three base64url parts separated by dots.')
  const kid = kidOf(header)
  if (kid === null)
    return refused('Its header is not that of a permit: alg EdDSA, typ permit+jwt, a kid, and nothing else.')
  const [jwk, ...more] = (await readKeys()).keys.filter((one) => one.kid === kid)
  if (jwk === undefined || more.length > 0)
    return refused(
      'The server has no key with this id. Another server signed the permit, or the key is no longer published.',
    )
  const signed = new TextEncoder().encode(text.slice(0, text.lastIndexOf('.')))
  const publicKey = publicKeyOf(jwk)
  if (publicKey === null || !(await verifyEd25519(publicKey, signed, signature)))
    return refused('The signature does not match: the permit was changed, or this server did not sign it.')
  const claims = objectOf(payload)
  if (claims === null || !areClaims(claims))
    return refused('The signature is valid, but the claims are not those of a permit.')
  if (claims.exp - claims.iat > MAX_LIFE_SECONDS)
    return refused('Its lifetime is over an hour. No permit is valid that long.')
  return { result: 'genuine', claims, time: timeOf(claims, nowMs) }
}

/** Decodes base64url in its canonical form: without padding, blanks and leftover bits. Null for any other text. */
function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return null
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const again = btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  return again === text ? Uint8Array.from(binary, (character) => character.charCodeAt(0)) : null
}

/** Accepts only these members: no header may carry a key or change how the rest is read. */
function kidOf(bytes: Uint8Array): string | null {
  const { alg, typ, kid, ...more } = objectOf(bytes) ?? {}
  const isExact = Object.keys(more).length === 0 && alg === 'EdDSA' && typ === 'permit+jwt'
  return isExact && isText(kid) ? kid : null
}

function objectOf(bytes: Uint8Array): { readonly [member: string]: unknown } | null {
  const parsed = parseStrictJson(bytes, { maxDepth: MAX_DEPTH })
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value))
    return null
  return parsed.value as { readonly [member: string]: unknown }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isHash = (value: unknown): boolean => typeof value === 'string' && /^[A-Za-z0-9_-]{43}$/.test(value)

const CHECKS: { readonly [Claim in keyof Required<PermitClaims>]: (value: unknown) => boolean } = {
  iss: isText,
  sub: isText,
  aud: isText,
  iat: isCount,
  exp: isCount,
  jti: isText,
  action: isText,
  resource: (value) => value === null || isText(value),
  effect: (value) => value === 'allow' || value === 'log' || value === 'review',
  policy_id: isText,
  policy_revision: isCount,
  amount: (value) => value === undefined || (Number.isFinite(value) && (value as number) >= 0),
  unit: (value) => value === undefined || isText(value),
  request_hash: isHash,
  audit: (value) => {
    const { log, index, leaf } = (value ?? {}) as { readonly [member: string]: unknown }
    return isText(log) && isCount(index) && isHash(leaf)
  },
}

function areClaims(value: { readonly [member: string]: unknown }): value is PermitClaims {
  return Object.entries(CHECKS).every(([claim, check]) => check(value[claim]))
}

/** A permit ends exactly at `exp`. Only its start has a tolerance. */
function timeOf({ iat, exp }: PermitClaims, nowMs: number): 'in force' | 'over' | 'not begun' {
  if (nowMs >= exp * 1000) return 'over'
  return iat * 1000 > nowMs + SKEW_MS ? 'not begun' : 'in force'
}
