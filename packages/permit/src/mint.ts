import { type KeyObject, sign } from 'node:crypto'
import type { PermitClaims } from '@countersign/contract'
import { findIllFormedClaim, MAX_PERMIT_LIFE_SECONDS } from './claims.js'
import type { SigningKey } from './signing-key.js'

/**
 * Signs a permit on the thread pool.
 *
 * The result is a compact JWS of `{alg: "EdDSA", typ: "permit+jwt", kid}` and the given claims.
 *
 * @throws TypeError when a verifier would refuse the claims: a missing or ill-formed member, a lifetime over 1 h,
 *   another effect
 *
 * Source: docs/permits.md "What a permit says".
 */
export function mintPermit(key: SigningKey, claims: PermitClaims): Promise<string> {
  return new Promise((resolve, reject) => {
    const unsigned = unsignedPermit(key, claims)
    sign(null, Buffer.from(unsigned, 'ascii'), key.privateKey, (error, signature) => {
      if (error) reject(error)
      else resolve(`${unsigned}.${signature.toString('base64url')}`)
    })
  })
}

/**
 * Signs a permit on the calling thread: returns the same token as `mintPermit`, in less CPU time.
 *
 * @throws TypeError as `mintPermit` does
 */
export function mintPermitSync(key: SigningKey, claims: PermitClaims): string {
  const unsigned = unsignedPermit(key, claims)
  return `${unsigned}.${signatureOf(key.privateKey, unsigned)}`
}

/** Returns the last part of a permit, in base64url. */
function signatureOf(privateKey: KeyObject, unsigned: string): string {
  return sign(null, Buffer.from(unsigned, 'ascii'), privateKey).toString('base64url')
}

const headerSegments = new WeakMap<SigningKey, string>()

/**
 * Returns a permit without its signature and the dot before it.
 *
 * @throws TypeError as `mintPermit` does
 */
function unsignedPermit(key: SigningKey, claims: PermitClaims): string {
  assertMintable(claims)
  let header = headerSegments.get(key)
  if (header === undefined) {
    header = segment({ alg: 'EdDSA', typ: 'permit+jwt', kid: key.kid })
    headerSegments.set(key, header)
  }
  return `${header}.${segment(claims)}`
}

function segment(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/**
 * A token that every verifier refuses must not be issued: it would look like a permit to a program that only checks the
 * signature.
 */
function assertMintable(claims: PermitClaims): void {
  const illFormed = findIllFormedClaim(claims)
  if (illFormed !== null) throw new TypeError(`The claim ${illFormed} is missing or ill-formed.`)
  if (!['allow', 'log', 'review'].includes(claims.effect)) throw new TypeError(`No permit for ${claims.effect}.`)
  if (claims.exp - claims.iat > MAX_PERMIT_LIFE_SECONDS) throw new TypeError('A permit lives at most 1 h.')
}
