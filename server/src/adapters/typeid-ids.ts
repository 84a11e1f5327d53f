import { randomBytes } from 'node:crypto'
import type { Clock } from '../ports/clock.js'
import type { Ids } from '../ports/ids.js'

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
/** Ten bits as two digits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => DIGITS.charAt(bits >> 5) + DIGITS.charAt(bits & 31))

/** Ids by the given clock. Ids of the same millisecond sort in the order of their creation. */
export function typeidIds(clock: Clock): Ids {
  let random = Buffer.alloc(0)
  let last = 0
  let sequence = 0
  /** No byte is given twice. The system is asked for many at once: that costs as much as a few. */
  const randomOf = (bytes: number): Buffer => {
    if (random.length < bytes) random = randomBytes(4096)
    const taken = random.subarray(0, bytes)
    random = random.subarray(bytes)
    return taken
  }
  return {
    next(prefix) {
      const now = clock.now().getTime()
      if (now > last) sequence = 0
      last = Math.max(last, now)
      return typeid(prefix, last, sequence++, randomOf(6).readUIntBE(0, 6))
    },
    salt: () => randomOf(16).toString('base64url'),
  }
}

/**
 * The TypeID of a UUIDv7 whose counter of 32 bits follows the time. An overflow of the counter (never within a millisecond)
 * carries into the time.
 *
 * @param random its last 42 bits count
 *
 * Source: RFC 9562 section 5.7 and 6.2; TypeID 0.3.
 */
export function typeid(prefix: string, milliseconds: number, sequence: number, random: number): string {
  const time = milliseconds + Math.floor(sequence / 2 ** 32)
  const counter = sequence % 2 ** 32
  // 4 bits of version, 12 of the counter, 2 of the variant, 20 of the counter, 2 random ones; then 40 random ones.
  const marked = (0x7000 + Math.floor(counter / 2 ** 20)) * 4 + 2
  const high = marked * 2 ** 22 + (counter % 2 ** 20) * 4 + (Math.floor(random / 2 ** 40) % 4)
  return `${prefix}_${PAIRS[Math.floor(time / 2 ** 40)]}${base32(time)}${base32(high)}${base32(random)}`
}

/** The last 40 bits of a natural number. */
function base32(bits: number): string {
  const [first, second] = [PAIRS[(bits / 2 ** 30) & 1023], PAIRS[(bits / 2 ** 20) & 1023]]
  return `${first}${second}${PAIRS[(bits / 2 ** 10) & 1023]}${PAIRS[bits & 1023]}`
}
