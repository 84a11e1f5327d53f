/**
 * A reader of valid JSON. It finds what `JSON.parse` does not report: how numbers are spelled, and how many members there are. It
 * reads every message, so it creates objects only for numbers that JavaScript would write differently.
 */
import { ExactNumber, isSafeNumber } from './exact-number.js'

/** Counts of a text, outside its strings. */
export interface TextCounts {
  /** Numbers that `JSON.stringify` would write differently: `1.0`, `1E5`, `9007199254740993`. */
  readonly oddNumbers: number
  /** Members of objects, including repeated ones. */
  readonly members: number
  /** Members of objects and elements of lists, at any depth. An empty object or list counts as one. */
  readonly values: number
  /** The deepest nesting of lists and objects. */
  readonly levels: number
}

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c]
const [PLUS, MINUS, DOT, ZERO, NINE, BIG_E, SMALL_E] = [0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x45, 0x65]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
/** A double keeps any decimal number with this many digits. */
const SURE_DIGITS = 15

/** The counts are meaningless if the text is not valid JSON. */
export function countsOf(text: string): TextCounts {
  let [oddNumbers, members, values, depth, levels] = [0, 0, 0, 0, 0]
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (isNumberStart(code)) {
      const end = endOfNumber(text, at)
      if (!isPlain(text, at, end)) oddNumbers += 1
      at = end
    } else {
      if (code === COLON) members += 1
      else if (code === COMMA) values += 1
      else if (code === OPEN_LIST || code === OPEN_OBJECT) {
        values += 1
        depth += 1
        if (depth > levels) levels = depth
      } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth -= 1
      at += 1
    }
  }
  return { oddNumbers, members, values, levels }
}

/**
 * Parses as `JSON.parse` does, but returns an ExactNumber for each number that `JSON.stringify` would write differently.
 *
 * @param text valid JSON
 * @throws RangeError for a text that is nested too deeply
 */
export function readExactly(text: string): unknown {
  return new ExactReader(text).value()
}

class ExactReader {
  #at = 0

  constructor(private readonly text: string) {}

  value(): unknown {
    const code = this.#next()
    if (code === QUOTE) return this.#string()
    if (code === OPEN_LIST) return this.#list()
    if (code === OPEN_OBJECT) return this.#object()
    return isNumberStart(code) ? this.#number() : this.#word()
  }

  #list(): unknown[] {
    const list: unknown[] = []
    this.#at += 1
    while (this.#next() !== CLOSE_LIST) {
      list.push(this.value())
      this.#skipComma()
    }
    this.#at += 1
    return list
  }

  #object(): object {
    const object: Record<string, unknown> = {}
    this.#at += 1
    while (this.#next() !== CLOSE_OBJECT) {
      const name = this.#string()
      // The colon.
      this.#next()
      this.#at += 1
      setMember(object, name, this.value())
      this.#skipComma()
    }
    this.#at += 1
    return object
  }

  #string(): string {
    const from = this.#at
    this.#at = endOfString(this.text, from)
    const inner = this.text.slice(from + 1, this.#at - 1)
    return inner.includes('\\') ? JSON.parse(`"${inner}"`) : inner
  }

  #number(): number | ExactNumber {
    const from = this.#at
    this.#at = endOfNumber(this.text, from)
    const digits = this.text.slice(from, this.#at)
    return isPlain(this.text, from, this.#at) ? Number(digits) : new ExactNumber(digits)
  }

  #word(): boolean | null {
    const word = [true, false, null].find((one) => this.text.startsWith(String(one), this.#at)) ?? null
    this.#at += String(word).length
    return word
  }

  #skipComma(): void {
    if (this.#next() === COMMA) this.#at += 1
  }

  /** The next character that is not white space. */
  #next(): number {
    while (this.text.charCodeAt(this.#at) <= 0x20) this.#at += 1
    return this.text.charCodeAt(this.#at)
  }
}

function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
  else object[name] = value
}

function endOfString(text: string, open: number): number {
  for (let quote = text.indexOf('"', open + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before -= 1
    // An odd number of backslashes escapes the quote.
    if ((quote - before) % 2 === 1) return quote + 1
  }
  return text.length
}

function isNumberStart(code: number): boolean {
  return code === MINUS || isDigit(code)
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

function endOfNumber(text: string, from: number): number {
  let at = from + 1
  while (isPartOfNumber(text.charCodeAt(at))) at += 1
  return at
}

function isPartOfNumber(code: number): boolean {
  return isDigit(code) || code === DOT || code === PLUS || code === MINUS || code === SMALL_E || code === BIG_E
}

/** Whether `JSON.stringify` writes the number with the same digits. Never if a double cannot hold the number. */
function isPlain(text: string, from: number, end: number): boolean {
  const first = text.charCodeAt(from) === MINUS ? from + 1 : from
  if (end - first <= SURE_DIGITS) {
    const sure = isSurelyPlain(text, first, end)
    if (sure !== undefined) return sure
  }
  const digits = text.slice(from, end)
  const value = Number(digits)
  return String(value) === digits && isSafeNumber(value)
}

/** Answers for most numbers by their digits alone, without parsing. Undefined if the digits do not decide. */
function isSurelyPlain(text: string, first: number, end: number): boolean | undefined {
  let dot = -1
  for (let at = first; at < end; at += 1) {
    const code = text.charCodeAt(at)
    if (code === DOT) dot = at
    // JavaScript writes a sign after an `e`.
    else if (!isDigit(code)) return code === SMALL_E && !isDigit(text.charCodeAt(at + 1)) ? undefined : false
  }
  const isBelowOne = text.charCodeAt(first) === ZERO
  if (dot === -1) return !isBelowOne || text.charCodeAt(first - 1) !== MINUS
  if (text.charCodeAt(end - 1) === ZERO) return false
  // JavaScript may write a number that begins with zeros with an exponent.
  return isBelowOne && text.charCodeAt(dot + 1) === ZERO ? undefined : true
}
