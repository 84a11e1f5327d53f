import { createHash, randomBytes, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { KeySecret } from './ports/store/documents.js'

const PREFIX = 'cs_sk_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/** A new API key: 43 random base62 characters (256 bits), then a CRC32, so that a typo can be found offline. */
export function generateKeyText(): string {
  const secret = Array.from({ length: SECRET_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  return withChecksum(PREFIX + secret)
}

/** Whether the text can be a key. A text with the prefix of generated keys must have their form; any other text can be one. */
export function isPlausibleKeyText(text: string): boolean {
  if (!text.startsWith(PREFIX)) return true
  return FORM.test(text) && withChecksum(text.slice(0, -CHECKSUM_LENGTH)) === text
}

/** The part of a key's text that the store keeps: its hash, and a hint to recognize it by (`cs_sk_…9fQ2`). */
export function secretOf(text: string): KeySecret {
  const hint = `${text.startsWith(PREFIX) ? PREFIX : ''}…${text.slice(-4)}`
  return { hash: hashKeyText(text), hint, expires_at: null }
}

/** A new secret of 256 random bits that is no API key: a session of the dashboard, or the code of a one-time link. */
export function generateSessionText(): string {
  return randomBytes(32).toString('base64url')
}

/** SHA-256, base64url. The text has 256 random bits, so a fast hash is as safe as a slow one. */
export function hashKeyText(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function withChecksum(text: string): string {
  let rest = crc32(text)
  let checksum = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    checksum = ALPHABET[rest % ALPHABET.length] + checksum
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text + checksum
}
