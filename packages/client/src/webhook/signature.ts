/** The scheme `v1` of Standard Webhooks: HMAC with SHA-256 over `id.timestamp.body`. */

/** For a key that can sign and verify. */
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' } as const
const PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
/** 32 bytes, in their only canonical base64 form. */
const V1_SIGNATURE = /^v1,([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/
/**
 * The server signs with five secrets at most. Without a limit, one request could cost as many checks as fit into a
 * header.
 */
const MAX_SIGNATURES = 16

/**
 * Returns the bytes of each secret.
 *
 * @throws TypeError that shows no part of a secret
 */
export function readSecrets(given: unknown): readonly Uint8Array<ArrayBuffer>[] {
  const secrets: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (secrets.length === 0) throw new TypeError('secret must be one or more secrets, and there is none')
  return secrets.map(secretBytes)
}

function secretBytes(secret: unknown): Uint8Array<ArrayBuffer> {
  if (typeof secret !== 'string' || !secret.startsWith(PREFIX)) {
    throw new TypeError(`secret must be the text that begins with ${PREFIX}, as the server showed it`)
  }
  const text = secret.slice(PREFIX.length)
  const bytes = BASE64.test(text) ? bytesOf(text) : undefined
  if (bytes === undefined || bytes.length < 24 || bytes.length > 64) {
    throw new TypeError(`secret must be ${PREFIX} and the base64 of 24 to 64 bytes: copy all of it`)
  }
  return bytes
}

/** Returns the `v1` signatures of a header; other schemes and malformed signatures are left out. */
export function v1SignaturesIn(header: string): readonly Uint8Array<ArrayBuffer>[] {
  const texts = header.split(' ').flatMap((one) => V1_SIGNATURE.exec(one)?.[1] ?? [])
  return texts.length > MAX_SIGNATURES ? [] : texts.map(bytesOf)
}

/** Whether one of the signatures is that of the message by one of the secrets. Each comparison takes constant time. */
export async function isSigned(
  message: Uint8Array<ArrayBuffer>,
  signatures: readonly Uint8Array<ArrayBuffer>[],
  secrets: readonly Uint8Array<ArrayBuffer>[],
): Promise<boolean> {
  const { subtle } = globalThis.crypto
  for (const secret of secrets) {
    const key = await subtle.importKey('raw', secret, ALGORITHM, false, ['verify'])
    for (const signature of signatures) {
      if (await subtle.verify(ALGORITHM, key, signature, message)) return true
    }
  }
  return false
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}
