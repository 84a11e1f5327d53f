/** The public keys that the commands about the audit log trust. */
import { createPublicKey, verify } from 'node:crypto'
import type { TrustedKeys } from '@countersign/audit-log'

/** @param keys of a key set (RFC 7517). Those of other kinds than Ed25519 are passed over */
export function trustedKeysOf(keys: readonly unknown[]): TrustedKeys {
  return {
    publicKeys: keys.flatMap((key) => {
      const { kty, crv, x } = key as { readonly kty?: unknown; readonly crv?: unknown; readonly x?: unknown }
      return kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' ? [bytesOf(x)] : []
    }),
    verify: (publicKey, message, signature) => {
      const x = Buffer.from(publicKey).toString('base64url')
      const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
      return verify(null, message, key, signature)
    },
  }
}

function bytesOf(x: string): Uint8Array {
  return new Uint8Array(Buffer.from(x, 'base64url'))
}
