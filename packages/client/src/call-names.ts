/** The two names that a call may be given, as the wire takes them: whatever their length and characters. */
import { hashOfText } from './sha256.js'

/** 1 to 255 visible ASCII characters, as a header can hold. */
const KEY = /^[\x21-\x7e]{1,255}$/
/** 1 to 64 characters of Unicode. */
const HOLDER = /^[^\p{Cs}]{1,64}$/su
const MAX_HOLDER = 64

/**
 * The key as it is where the wire takes it, else its hash.
 *
 * @throws TypeError for anything but a text, and for an empty one
 */
export function idempotencyKeyOf(given: unknown): string {
  const key = textOf('idempotencyKey', given)
  return KEY.test(key) ? key : hashOfText(key)
}

/**
 * The holder as it is where the wire takes it, else its hash.
 *
 * @throws TypeError for anything but a text, and for an empty one
 */
export function holderOf(given: unknown, name = 'holder'): string {
  const holder = textOf(name, given)
  return holder.length <= MAX_HOLDER && HOLDER.test(holder) ? holder : hashOfText(holder)
}

/** An empty one is most likely that of a value that was missing, which all calls would share. */
function textOf(name: string, given: unknown): string {
  if (typeof given === 'string' && given !== '') return given
  throw new TypeError(`${name} has to be a text that is not empty`)
}
