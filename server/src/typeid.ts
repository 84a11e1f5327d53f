import { hash } from 'node:crypto'

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
/** Ten bits as two digits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => DIGITS.charAt(bits >> 5) + DIGITS.charAt(bits & 31))

/**
 * Returns the TypeID of a UUIDv7 with a 32-bit counter after the time. An overflow of the counter (never within a
 * millisecond) carries into the time.
 *
 * @param random its last 42 bits are used
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

/** Returns a TypeID that depends only on the time and the name. */
export function typeidOf(prefix: string, milliseconds: number, name: string): string {
  const bytes = hash('sha256', name, 'buffer')
  return typeid(prefix, milliseconds, bytes.readUInt32BE(0), bytes.readUIntBE(4, 6))
}
