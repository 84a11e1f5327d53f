/**
 * Reads the bytes of a request body, of a part of a permit or of a key set as strict JSON, which has only one
 * interpretation. It refuses everything that two parsers could read differently (a repeated key, a number that no
 * double represents, a lone surrogate) and every key that reaches for a prototype. Linear in the size of the text;
 * nesting is bounded before it is followed. Source: docs/reference/http.md "Strict JSON"; RFC 8259.
 */
import type { Json } from './json.js'

export interface StrictJsonOptions {
  /** How deeply objects and arrays may nest. */
  readonly maxDepth: number
  /** The same limit within the value of a member of the outermost object. */
  readonly memberDepth?: Readonly<Record<string, number>>
}

/** `detail` says what is wrong and where, such as `Line 1, column 31: the key "amount" is repeated.` */
export type StrictJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly detail: string }

/** A position at which the text is not strict JSON. */
class Fault extends Error {
  constructor(
    readonly offset: number,
    readonly what: string,
  ) {
    super(what)
  }
}

const SHOWN_KEY_LENGTH = 40
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
const HEX4 = /^[0-9A-Fa-f]{4}$/
const LONE_SURROGATE = /\p{Surrogate}/u

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SPACE = 0x20
const BYTE_ORDER_MARK = 0xfeff

/** Returns a key in a form that is safe to read in a log or a terminal. */
function shown(key: string): string {
  const text = key.length > SHOWN_KEY_LENGTH ? `${key.slice(0, SHOWN_KEY_LENGTH)}…` : key
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}

class Reader {
  private at = 0
  /** How deeply objects and arrays may nest, not counting those around a member with its own limit. */
  private max: number
  private around = 0

  constructor(
    private readonly text: string,
    private readonly options: StrictJsonOptions,
  ) {
    this.max = options.maxDepth
  }

  readDocument(): Json {
    if (this.text.charCodeAt(0) === BYTE_ORDER_MARK) throw new Fault(0, 'a byte order mark is not allowed')
    this.skipSpace()
    if (this.at === this.text.length) throw new Fault(this.at, 'the body is empty')
    const value = this.readValue(0)
    this.skipSpace()
    if (this.at < this.text.length) throw new Fault(this.at, 'unexpected text after the end of the value')
    return value
  }

  private readValue(depth: number): Json {
    switch (this.text.charCodeAt(this.at)) {
      case QUOTE:
        return this.readString()
      case OPEN_BRACE:
        return this.readObject(this.deeper(depth))
      case OPEN_BRACKET:
        return this.readArray(this.deeper(depth))
      case 0x74: // t
        return this.readWord('true', true)
      case 0x66: // f
        return this.readWord('false', false)
      case 0x6e: // n
        return this.readWord('null', null)
      default:
        return this.readNumber()
    }
  }

  private deeper(depth: number): number {
    if (depth - this.around === this.max)
      throw new Fault(this.at, `objects and arrays are nested more than ${this.max} deep`)
    return depth + 1
  }

  private readObject(depth: number): Json {
    const object: { [key: string]: Json } = {}
    this.at++
    if (this.closes(CLOSE_BRACE)) return object
    for (;;) {
      this.readMember(object, depth)
      if (this.closes(CLOSE_BRACE)) return object
      this.expect(COMMA, 'expected a comma or }')
    }
  }

  /** A plain assignment creates an own property, because `__proto__`, the only key with a setter, is refused. */
  private readMember(object: { [key: string]: Json }, depth: number): void {
    this.skipSpace()
    const start = this.at
    if (this.text.charCodeAt(start) !== QUOTE) throw new Fault(start, 'expected a key in double quotes')
    const key = this.readString()
    if (key === '__proto__' || key === 'constructor' || key === 'prototype')
      throw new Fault(start, `the key ${shown(key)} is not allowed`)
    if (Object.hasOwn(object, key)) throw new Fault(start, `the key ${shown(key)} is repeated`)
    this.expect(COLON, 'expected a colon')
    this.skipSpace()
    object[key] = depth === 1 ? this.readOuterMember(key) : this.readValue(depth)
  }

  private readOuterMember(key: string): Json {
    const { maxDepth, memberDepth } = this.options
    if (memberDepth === undefined || !Object.hasOwn(memberDepth, key)) return this.readValue(1)
    this.max = memberDepth[key] as number
    this.around = 1
    const value = this.readValue(1)
    this.max = maxDepth
    this.around = 0
    return value
  }

  private readArray(depth: number): Json {
    const array: Json[] = []
    this.at++
    if (this.closes(CLOSE_BRACKET)) return array
    for (;;) {
      this.skipSpace()
      array.push(this.readValue(depth))
      if (this.closes(CLOSE_BRACKET)) return array
      this.expect(COMMA, 'expected a comma or ]')
    }
  }

  private readString(): string {
    const { text } = this
    const open = this.at
    let start = open + 1
    let value = ''
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) {
        this.at = at + 1
        if (start === open + 1) return text.slice(start, at)
        value += text.slice(start, at)
        if (LONE_SURROGATE.test(value)) throw new Fault(open, 'the string contains half a surrogate pair')
        return value
      }
      if (code === BACKSLASH) {
        value += text.slice(start, at) + this.readEscape(at)
        at += text[at + 1] === 'u' ? 5 : 1
        start = at + 1
      } else if (code < SPACE) throw new Fault(at, 'a control character in a string must be escaped')
    }
    throw new Fault(text.length, 'the string does not end')
  }

  private readEscape(at: number): string {
    const letter = this.text[at + 1] ?? ''
    if (letter !== 'u') {
      const character = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined
      if (character === undefined) throw new Fault(at, 'the escape sequence is not valid')
      return character
    }
    const digits = this.text.slice(at + 2, at + 6)
    if (!HEX4.test(digits)) throw new Fault(at, '\\u needs four hexadecimal digits')
    return String.fromCharCode(Number.parseInt(digits, 16))
  }

  private readNumber(): number {
    NUMBER.lastIndex = this.at
    const digits = NUMBER.exec(this.text)?.[0]
    if (digits === undefined) throw new Fault(this.at, 'expected a value')
    const value = Number(digits)
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
      throw new Fault(this.at, 'the number is too large to be represented exactly')
    this.at += digits.length
    return value
  }

  private readWord<Word extends Json>(word: string, value: Word): Word {
    if (!this.text.startsWith(word, this.at)) throw new Fault(this.at, 'expected a value')
    this.at += word.length
    return value
  }

  private closes(bracket: number): boolean {
    this.skipSpace()
    if (this.text.charCodeAt(this.at) !== bracket) return false
    this.at++
    return true
  }

  private expect(mark: number, what: string): void {
    this.skipSpace()
    if (this.text.charCodeAt(this.at) !== mark) throw new Fault(this.at, what)
    this.at++
  }

  private skipSpace(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at)
      if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.at++
    }
  }
}

function detailAt(before: string, what: string): string {
  const line = before.split('\n').length
  const column = before.length - before.lastIndexOf('\n')
  return `Line ${line}, column ${column}: ${what}.`
}

/** Returns the text before the first bytes that are not UTF-8. */
function textBeforeInvalidBytes(bytes: Uint8Array): string {
  const repaired = new TextEncoder().encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  const end = bytes.findIndex((byte, index) => byte !== repaired[index])
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, end), { stream: true })
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

/** Parses a whole body. Objects have own data properties only; every number is the double nearest to its text. */
export function parseStrictJson(bytes: Uint8Array, options: StrictJsonOptions): StrictJson {
  const text = decode(bytes)
  if (text === null)
    return { ok: false, detail: detailAt(textBeforeInvalidBytes(bytes), 'the body is not valid UTF-8') }
  try {
    return { ok: true, value: new Reader(text, options).readDocument() }
  } catch (err) {
    if (!(err instanceof Fault)) throw err
    return { ok: false, detail: detailAt(text.slice(0, err.offset), err.what) }
  }
}
