/** The offline check of a permit: form, header, key, signature, claims, expectations, single use, in that order. */
import type { PermitClaims } from '@countersign/contract'
import { type CryptoKey, compactVerify } from 'jose'
import { findIllFormedClaim, MAX_PERMIT_LIFE_SECONDS } from './claims.js'
import { type CompactParts, splitCompactForm } from './compact-form.js'
import { assertExpected, assertGiven, type PermitExpectations } from './expectations.js'
import { createKeySource, type KeySetInput } from './key-source.js'
import { PermitError, type PermitErrorCode } from './permit-error.js'
import { createSeenPermits, type SeenPermits } from './seen-permits.js'
import { parseStrictObject } from './strict-object.js'

export interface PermitVerifierOptions {
  /** The decision point's `ISSUER`, exactly. */
  readonly issuer: string
  /** The decision point's `PERMIT_AUDIENCE`, exactly. */
  readonly audience: string
  /**
   * The public keys. From a URL or a function they are read when needed: they are at most 60 s old, are read again for
   * an unknown kid at most every 30 s, and may be up to 1 h old while reading fails. An answer is limited to 5 s and 64
   * KiB.
   */
  readonly jwks: KeySetInput
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: () => number
  /** How many permits are remembered so that none passes twice; default 1,000,000. */
  readonly maxSeen?: number
  /**
   * A memory to share with other verifiers, or false to accept a permit as often as it is shown. Default: a separate
   * memory.
   */
  readonly seen?: SeenPermits | false
}

export interface PermitVerifier {
  /**
   * Resolves with the claims when the action may run, once for each permit.
   *
   * @throws PermitError in every other case; `code` says why
   */
  verify(token: string, expected: PermitExpectations): Promise<PermitClaims>
}

/**
 * How far the clock of the decision point may be ahead of ours. There is no such tolerance at the expiry of a permit.
 */
const ISSUED_AT_SKEW_MS = 5_000

/**
 * Creates an offline verifier of permits, which only loads the key set from time to time.
 *
 * It cannot see what happened after the permit was signed, such as a suspended agent: where that matters, redeem the
 * permit.
 *
 * @throws TypeError when issuer or audience is empty, or the key set is invalid
 *
 * Source: docs/permits.md "Verify offline".
 */
export function createPermitVerifier(options: PermitVerifierOptions): PermitVerifier {
  const { issuer, audience, jwks, now = Date.now, maxSeen } = options
  if (!issuer || !audience) throw new TypeError('A verifier needs an issuer and an audience.')
  const keyFor = createKeySource(jwks, now)
  const seen = options.seen ?? createSeenPermits(maxSeen === undefined ? { now } : { now, max: maxSeen })

  return {
    async verify(token, expected) {
      assertGiven(expected)
      const parts = splitCompactForm(token)
      await assertSigned(token, await keyFor(readKid(parts.header)))
      const claims = readClaims(parts)
      assertIntended(claims, issuer, audience)
      assertInForce(claims, now())
      assertExpected(claims, expected)
      if (seen !== false) await assertFirst(claims, seen)
      return claims
    },
  }
}

/** The header is exactly `{alg, typ, kid}`: nothing in it may supply a key or change how the rest is read. */
function readKid(bytes: Buffer): string {
  const { alg, typ, kid, ...more } = readObject(bytes, 'header_invalid', 'header')
  if (Object.keys(more).length > 0) {
    throw new PermitError('header_member_not_allowed', 'The header has members other than alg, typ and kid.')
  }
  if (alg !== 'EdDSA') throw new PermitError('algorithm_not_allowed', 'A permit must be signed with EdDSA.')
  if (typ !== 'permit+jwt') throw new PermitError('type_not_allowed', 'A permit must have the type permit+jwt.')
  if (typeof kid !== 'string' || kid === '') throw new PermitError('header_invalid', 'The header does not name a key.')
  return kid
}

async function assertSigned(token: string, key: CryptoKey): Promise<void> {
  try {
    await compactVerify(token, key, { algorithms: ['EdDSA'] })
  } catch (cause) {
    throw new PermitError('signature_invalid', 'The signature does not match the permit.', { cause })
  }
}

function readClaims({ payload }: CompactParts): PermitClaims {
  const claims = readObject(payload, 'claims_invalid', 'payload')
  const illFormed = findIllFormedClaim(claims)
  if (illFormed !== null) throw new PermitError('claims_invalid', `The claim ${illFormed} is missing or ill-formed.`)
  return claims as unknown as PermitClaims
}

function assertIntended(claims: PermitClaims, issuer: string, audience: string): void {
  if (claims.iss !== issuer) {
    throw new PermitError(
      'issuer_mismatch',
      `The permit is from the issuer ${quoted(claims.iss)}, not ${quoted(issuer)}.`,
    )
  }
  if (claims.aud !== audience) {
    throw new PermitError(
      'audience_mismatch',
      `The permit is for the audience ${quoted(claims.aud)}, not ${quoted(audience)}.`,
    )
  }
}

function assertInForce({ iat, exp }: PermitClaims, nowMs: number): void {
  // Compared in this direction, so that a clock without a number lets nothing pass.
  const isBeforeEnd = nowMs < exp * 1000
  const isAfterStart = iat * 1000 <= nowMs + ISSUED_AT_SKEW_MS
  if (!isBeforeEnd) throw new PermitError('expired', `The permit has expired${byClock(nowMs - exp * 1000, 'ago')}.`)
  if (!isAfterStart) {
    throw new PermitError(
      'issued_in_future',
      `The permit was issued in the future${byClock(iat * 1000 - nowMs, 'ahead')}.`,
    )
  }
  if (exp - iat > MAX_PERMIT_LIFE_SECONDS) throw new PermitError('life_too_long', 'A permit lives at most 1 h.')
}

/** Quotes the value of a signed claim, on one line of bounded length. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}

/** A clock without a number gives no time. */
function byClock(milliseconds: number, direction: 'ago' | 'ahead'): string {
  if (!Number.isFinite(milliseconds)) return ''
  return `, ${Math.floor(milliseconds / 1000)} s ${direction} by the clock of this machine`
}

async function assertFirst({ jti, exp }: PermitClaims, seen: SeenPermits): Promise<void> {
  let isFirst: boolean
  try {
    isFirst = await seen.add(jti, exp)
  } catch (cause) {
    throw new PermitError('replay_check_failed', 'It is not known whether the permit was seen before.', { cause })
  }
  if (isFirst !== true) throw new PermitError('already_seen', 'The permit was seen before.')
}

function readObject(bytes: Buffer, code: PermitErrorCode, part: string): { readonly [member: string]: unknown } {
  try {
    return parseStrictObject(bytes)
  } catch (cause) {
    throw new PermitError(code, `The ${part} is not strict JSON.`, { cause })
  }
}
