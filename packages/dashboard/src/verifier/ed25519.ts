/** Verifies Ed25519 signatures with the browser's WebCrypto. */
import type { Jwks } from '@countersign/contract'

/** The browser cannot check signatures, so the result is unknown. The message says what to do. */
class CannotVerifyError extends Error {
  override readonly name = 'CannotVerifyError'
}

/** Returns the public key of a JWK, 32 bytes; null when it is not an Ed25519 key. */
export function publicKeyOf({ kty, crv, x }: Jwks['keys'][number]): Uint8Array<ArrayBuffer> | null {
  if (kty !== 'OKP' || crv !== 'Ed25519' || !/^[A-Za-z0-9_-]{43}$/.test(x)) return null
  const binary = atob(x.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

/** Converts the server's key set for the verifiers of `@countersign/audit-log`. */
export function trustedKeys({ keys }: Jwks) {
  return { verify: verifyEd25519, publicKeys: keys.map(publicKeyOf).filter((key) => key !== null) }
}

/** Whether the key has signed the message. @throws CannotVerifyError */
export async function verifyEd25519(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const subtle = globalThis.crypto?.subtle
  if (subtle === undefined)
    throw new CannotVerifyError(
      'This browser can check signatures only on pages opened over HTTPS or from this machine.',
    )
  const key = await subtle
    .importKey('raw', new Uint8Array(publicKey), { name: 'Ed25519' }, false, ['verify'])
    .catch(() => null)
  if (key === null) throw new CannotVerifyError('This browser cannot check Ed25519 signatures. Use a newer browser.')
  return subtle.verify({ name: 'Ed25519' }, key, new Uint8Array(signature), new Uint8Array(message))
}
