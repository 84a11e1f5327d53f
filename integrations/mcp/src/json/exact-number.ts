/** JSON numbers that keep their digits. */

/** A number that a double cannot hold or JavaScript writes differently: 9007199254740993, 1e400, 1.0. */
export class ExactNumber {
  /** How many numbers were written as the nearest double. */
  static rounded = 0
  readonly #text: string

  /** @param text the digits in JSON */
  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }

  /** The nearest double: infinity for 1e400, 0 for 1e-400. */
  valueOf(): number {
    return Number(this.#text)
  }

  toJSON(): number {
    ExactNumber.rounded += 1
    return this.valueOf()
  }
}

/**
 * Whether a double can hold a number. It cannot hold integers beyond ±(2^53 - 1) in any spelling, infinity, or a number other than
 * zero that reads as zero.
 */
export function isSafeNumber(number: number | ExactNumber): boolean {
  const value = number.valueOf()
  if (value === 0) return typeof number === 'number' || !/^[^eE]*[1-9]/.test(number.toString())
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

/** The first number, at any depth of a value, that a double cannot hold. Undefined if there is none. */
export function unsafeNumberIn(value: unknown): number | ExactNumber | undefined {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const one = open.pop()
    if (typeof one === 'number' || one instanceof ExactNumber) {
      if (!isSafeNumber(one)) return one
    } else if (typeof one === 'object' && one !== null) for (const member of Object.values(one)) open.push(member)
  }
  return undefined
}

/** A copy with doubles, for programs that read the value. @throws as `JSON.stringify` */
export function plainCopyOf(value: unknown): unknown {
  const { rounded } = ExactNumber
  const text = JSON.stringify(value)
  return ExactNumber.rounded === rounded ? value : JSON.parse(text)
}

/** Whether both texts are the same decimal number, such as 1.50 and 15e-1. The sign of zero does not count. */
export function isSameDecimal(one: string, other: string): boolean {
  const [a, b] = [decimalOf(one), decimalOf(other)]
  return a.digits === b.digits && (a.digits === '' || (a.sign === b.sign && a.exponent === b.exponent))
}

/** The sign, the digits without zeros around them, and the power of ten of the last digit. Zero has no digits. */
function decimalOf(text: string): { readonly sign: string; readonly digits: string; readonly exponent: number } {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const written = whole + fraction
  let end = written.length
  // A regular expression would take quadratic time for zeros among many digits.
  while (written[end - 1] === '0') end -= 1
  const digits = written.slice(0, end).replace(/^0+/, '')
  return { sign, digits, exponent: Number(power) - fraction.length + written.length - end }
}
