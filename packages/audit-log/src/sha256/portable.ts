/** SHA-256 in plain JavaScript, for browsers, because WebCrypto is asynchronous. */
import { sha256 as sha256Of } from '@noble/hashes/sha2.js'
import { fromBase64Url, toBase64Url } from '../base64.js'

const UTF8 = new TextEncoder()

/** @param data bytes, or text for its UTF-8 */
export function sha256(data: Uint8Array | string): Uint8Array {
  return sha256Of(typeof data === 'string' ? UTF8.encode(data) : data)
}

/** The same, as base64url. */
export function sha256Text(data: string): string {
  return toBase64Url(sha256(data))
}

/** Hashes the bytes of these base64url texts, concatenated, as base64url. */
export function sha256Joined(...texts: readonly string[]): string {
  return toBase64Url(sha256(new Uint8Array(texts.flatMap((text) => [...fromBase64Url(text)]))))
}
