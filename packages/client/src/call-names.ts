/** Fits the two names of a call to the wire, whatever their length and characters. */
import { hashOfText } from './sha256.js'

/** 1 to 255 visible ASCII characters, the limit of a header. */
const KEY = /^[\x21-\x7e]{1,255}$/
/** 1 to 64 characters of Unicode. */
const HOLDER = /^[^\p{Cs}]{1,64}$/su
const MAX_HOLDER = 64

/**
 * Returns the key unchanged where the wire accepts it, otherwise its hash.
 *
 * @throws TypeError for anything but a text, and for an empty one
 */
export function idempotencyKeyOf(given: unknown): string {
  const key = textOf('idempotencyKey', given)
  return KEY.test(key) ? key : hashOfText(key)
}

/**
 * Returns the holder unchanged where the wire accepts it, otherwise its hash.
 *
 * @throws TypeError for anything but a text, and for an empty one
 */
export function holderOf(given: unknown, name = 'holder'): string {
  const holder = textOf(name, given)
  return holder.length <= MAX_HOLDER && HOLDER.test(holder) ? holder : hashOfText(holder)
}

/** An empty text most likely comes from a missing value, and all such calls would share it. */
function textOf(name: string, given: unknown): string {
  if (typeof given === 'string' && given !== '') return given
  throw new TypeError(`${name} must be a text that is not empty`)
}
