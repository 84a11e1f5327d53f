/** Fits the two names of a call to the wire. */

/** 1 to 255 visible ASCII characters, the limit of a header. */
const KEY = /^[\x21-\x7e]{1,255}$/
/** Half a character, which UTF-8 cannot express. */
const SURROGATE = /\p{Cs}/u
const MAX_HOLDER = 64

/** Takes a name as it is where the wire accepts it, and refuses any other. */
export class CallNames {
  /** @throws TypeError for anything but a text, for an empty one, and for one that is refused */
  idempotencyKeyOf(given: unknown): string {
    const key = textOf('idempotencyKey', given)
    return KEY.test(key) ? key : this.replaced(key, 'idempotencyKey must be 1 to 255 visible ASCII characters')
  }

  /** @throws TypeError for anything but a text, for an empty one, and for one that is refused */
  holderOf(given: unknown, name = 'holder'): string {
    const holder = textOf(name, given)
    const fits = holder.length <= MAX_HOLDER && !SURROGATE.test(holder)
    return fits ? holder : this.replaced(holder, `${name} must be 1 to 64 characters`)
  }

  /** Returns what is sent instead of a text that the wire does not accept. */
  protected replaced(_text: string, fault: string): string {
    throw new TypeError(fault)
  }
}

/** An empty text most likely comes from a missing value, and all such calls would share it. */
function textOf(name: string, given: unknown): string {
  if (typeof given === 'string' && given !== '') return given
  throw new TypeError(`${name} must be a text that is not empty`)
}
