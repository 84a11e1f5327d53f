/** Ed25519 signatures, by the browser itself (WebCrypto). */
import type { Jwks } from '@countersign/contract'

/** The browser cannot check a signature: nothing is known of it. Its message says what to do. */
class CannotVerifyError extends Error {
  override readonly name = 'CannotVerifyError'
}

/** The public key of a JWK, 32 bytes; null when it is none of Ed25519. */
export function publicKeyOf({ kty, crv, x }: Jwks['keys'][number]): Uint8Array<ArrayBuffer> | null {
  if (kty !== 'OKP' || crv !== 'Ed25519' || !/^[A-Za-z0-9_-]{43}$/.test(x)) return null
  const binary = atob(x.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

/** What the server publishes, as the verifiers of `@countersign/audit-log` take it. */
export function trustedKeys({ keys }: Jwks) {
  return { verify: verifyEd25519, publicKeys: keys.map(publicKeyOf).filter((key) => key !== null) }
}

/**
 * Whether the key has signed the message.
 *
 * @throws CannotVerifyError
 */
export async function verifyEd25519(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const subtle = globalThis.crypto?.subtle
  if (subtle === undefined)
    throw new CannotVerifyError(
      'This browser checks signatures only on a page that is opened over HTTPS or on this machine.',
    )
  const key = await subtle
    .importKey('raw', new Uint8Array(publicKey), { name: 'Ed25519' }, false, ['verify'])
    .catch(() => null)
  if (key === null) throw new CannotVerifyError('This browser cannot check Ed25519 signatures. Use a newer one.')
  return subtle.verify({ name: 'Ed25519' }, key, new Uint8Array(signature), new Uint8Array(message))
}
