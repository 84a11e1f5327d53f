/**
 * SHA-256 (FIPS 180-4), synchronous and for every platform: the Web's version is asynchronous and needs a secure
 * context, and Node's is missing in browsers. It hashes names that are too long to send; none of its input is secret.
 */
const PRIMES = firstPrimes(64)
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))
const ROUNDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)))
const encoder = new TextEncoder()

/**
 * Returns the hash of a text, as 64 hexadecimal digits. It hashes the JSON of the text in UTF-8, which differs for any
 * two texts, even with lone surrogates.
 */
export function hashOfText(text: string): string {
  return sha256(encoder.encode(JSON.stringify(text)))
}

/** Returns 64 hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  const state = Int32Array.from(START)
  const message = padded(bytes)
  for (let at = 0; at < message.byteLength; at += 64) addBlock(state, message, at)
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** Appends a bit 1, zeros, and the length in bits, up to whole blocks of 64 bytes. */
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

/** Returns the first 32 bits of the fraction. */
function fraction(root: number): number {
  return ((root % 1) * 2 ** 32) | 0
}

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let number = 2; primes.length < count; number += 1)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number)
  return primes
}
