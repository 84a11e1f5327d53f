import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

/** The public half of a signing key, as the key set publishes it. */
export interface PublicJwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
  readonly alg: 'EdDSA'
  readonly use: 'sig'
}

/** A signing key with its secret `d`: to be kept on disk with mode 0600, never published. */
export interface PrivateJwk extends PublicJwk {
  readonly d: string
}

/** The keys that verify permits, as `/.well-known/jwks.json` returns them. */
export interface PublicKeySet {
  readonly keys: PublicJwk[]
}

/** An Ed25519 key that signs permits. `kid` is the RFC 7638 thumbprint of its public half. */
export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicJwk: PublicJwk
}

/** Generates a new Ed25519 signing key. */
export function generateSigningKey(): SigningKey {
  return signingKeyOf(generateKeyPairSync('ed25519').privateKey)
}

/**
 * Reads a signing key from its private JWK.
 *
 * @throws TypeError when it is not an Ed25519 key, or when `x` or `kid` do not belong to `d`
 */
export function importSigningKey(jwk: PrivateJwk): SigningKey {
  if (jwk.kty !== 'OKP' || jwk.crv !== 'Ed25519') throw new TypeError('A signing key is an Ed25519 key.')
  const { kty, crv, x, d } = jwk
  let key: SigningKey
  try {
    key = signingKeyOf(createPrivateKey({ format: 'jwk', key: { kty, crv, x, d } }))
  } catch (cause) {
    throw new TypeError('The private JWK is not a valid Ed25519 key.', { cause })
  }
  if (key.publicJwk.x !== x) throw new TypeError('The public half `x` does not belong to the private half `d`.')
  if (key.kid !== jwk.kid) throw new TypeError(`The kid is not the thumbprint of the key, ${key.kid}.`)
  return key
}

/** Writes a signing key as a private JWK, the inverse of `importSigningKey`. */
export function exportSigningKey(key: SigningKey): PrivateJwk {
  const { d } = key.privateKey.export({ format: 'jwk' })
  if (d === undefined) throw new TypeError('The key has no private half.')
  return { ...key.publicJwk, d }
}

function signingKeyOf(privateKey: KeyObject): SigningKey {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' })
  if (x === undefined) throw new TypeError('The key has no public half.')
  const kid = thumbprint(x)
  return { kid, privateKey, publicJwk: { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' } }
}

/** Source: RFC 7638 section 3 with the members that RFC 8037 section 2 requires. */
function thumbprint(x: string): string {
  return createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url')
}
