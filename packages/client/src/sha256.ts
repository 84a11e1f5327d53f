/**
 * SHA-256 (FIPS 180-4), at once and wherever this package runs: the Web's answers by a promise and in secure contexts alone, and
 * Node's is in no browser. It is for names that are too long to be sent; nothing that it is given is secret.
 */
const PRIMES = firstPrimes(64)
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))
const ROUNDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)))
const encoder = new TextEncoder()

/**
 * The hash of a text, as 64 hexadecimal digits: of its JSON in UTF-8, which differs for any two texts, also where they hold halves
 * of surrogate pairs.
 */
export function hashOfText(text: string): string {
  return sha256(encoder.encode(JSON.stringify(text)))
}

/** As 64 hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  const state = Int32Array.from(START)
  const message = padded(bytes)
  for (let at = 0; at < message.byteLength; at += 64) addBlock(state, message, at)
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** The bytes, a bit 1, zeros, and their length in bits, in whole blocks of 64 bytes. */
function padded(bytes: Uint8Array): DataView {
  const whole = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  whole.set(bytes)
  whole[bytes.length] = 0x80
  const message = new DataView(whole.buffer)
  message.setBigUint64(whole.length - 8, BigInt(bytes.length) * 8n)
  return message
}

function addBlock(state: Int32Array, message: DataView, at: number): void {
  const words = new Int32Array(64)
  for (let index = 0; index < 16; index += 1) words[index] = message.getInt32(at + index * 4)
  for (let index = 16; index < 64; index += 1) {
    const [early, late] = [wordAt(words, index - 15), wordAt(words, index - 2)]
    const one = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)
    const two = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)
    words[index] = wordAt(words, index - 16) + one + wordAt(words, index - 7) + two
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (const [index, constant] of ROUNDS.entries()) {
    const choice = (e & f) ^ (~e & g)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const first = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + constant + wordAt(words, index)) | 0
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index] = wordAt(state, index) + word
}

function wordAt(words: Int32Array, index: number): number {
  return words[index] ?? 0
}

function rotated(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

/** The first 32 bits behind the point. */
function fraction(root: number): number {
  return ((root % 1) * 2 ** 32) | 0
}

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let number = 2; primes.length < count; number += 1)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number)
  return primes
}
