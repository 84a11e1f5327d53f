import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ExactNumber, isSafeNumber, isSameDecimal, unsafeNumberIn } from './exact-number.js'

describe('a number that a double holds', () => {
  it.each([
    '9007199254740991',
    '-9007199254740991',
    '9007199254740991.0',
    '9007199254740991e0',
    '0',
    '-0',
    '0e999',
    '5e-324',
    '1e15',
  ])('is %s', (text) => expect(isSafeNumber(new ExactNumber(text))).toBe(true))

  it.each([
    '9007199254740992',
    '-9007199254740992',
    '9007199254740993.0',
    '90071992547409930e-1',
    '1e17',
    '1E400',
    '-1e400',
    '1e-400',
  ])('is not %s', (text) => expect(isSafeNumber(new ExactNumber(text))).toBe(false))

  it('is one that is as near to zero as its digits say, and no integer beyond the last safe one', () => {
    const digits = fc.tuple(
      fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }),
      fc.integer({ min: -400, max: 20 }),
      fc.constantFrom('e', 'E'),
    )
    fc.assert(
      fc.property(digits, ([mantissa, exponent, e]) => {
        const text = `${mantissa}${e}${exponent}`
        // Twice the value, so that the middle between two integers is an integer.
        const isBeyond =
          2n * abs(mantissa) * 10n ** BigInt(Math.max(exponent, 0)) >=
          (2n * LAST + 1n) * 10n ** BigInt(Math.max(-exponent, 0))
        // Half of the least double reads as zero.
        const isLost = mantissa !== 0n && abs(mantissa) * 2n ** 1075n <= 10n ** BigInt(Math.max(-exponent, 0))
        expect(isSafeNumber(new ExactNumber(text))).toBe(!isBeyond && !isLost)
      }),
    )
  })

  it('is looked for at any depth', () => {
    const deep = Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 2 ** 53)
    expect(unsafeNumberIn(deep)).toBe(2 ** 53)
    expect(unsafeNumberIn({ a: [1, 'x', null, { b: Number.NaN }] })).toBeNaN()
    expect(unsafeNumberIn({ a: [1, '9007199254740993', null, { b: -0 }] })).toBeUndefined()
  })
})

const LAST = BigInt(Number.MAX_SAFE_INTEGER)
const abs = (value: bigint): bigint => (value < 0n ? -value : value)

describe('a decimal', () => {
  it.each([
    ['1.50', '1.5'],
    ['15e-1', '1.5'],
    ['1E5', '100000'],
    ['0.0', '-0'],
    ['100e-2', '1'],
    ['-1.0', '-1'],
  ])('%s is %s', (one, other) => expect(isSameDecimal(one, other)).toBe(true))

  it.each([
    ['1.5', '-1.5'],
    ['1.50000000000000000001', '1.5'],
    ['0.1000000000000000055511151231257827', '0.1'],
    ['10', '1'],
    ['1e-400', '0'],
  ])('%s is not %s', (one, other) => expect(isSameDecimal(one, other)).toBe(false))
})
