import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromMicro, toMicro } from './micro.js'

const anyAmount = fc.oneof(
  fc.double({ min: 0, max: 1e12, noNaN: true }),
  fc.double({ min: 0, max: 1e-5, noNaN: true }),
  fc.double({ min: 0, max: 1000, noNaN: true }),
  // What lies near the middle between two units, where rounding turns.
  fc
    .tuple(fc.nat(1e9), fc.constantFrom('5', '49999', '50001', '4999999999', '5000000001'))
    .map(([whole, half]) => Number(`${whole}.00000${half}`)),
  fc.bigInt(0n, 10n ** 18n).map((micro) => Number(micro) / 1e6),
)

/** The shortest decimal as a fraction of two whole numbers, rounded by its definition: the floor of it plus a half. */
function roundByHand(value: number): bigint {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', decimals = ''] = mantissa.split('.')
  const power = Number(exponent) - decimals.length + 6
  const top = BigInt(whole + decimals) * 10n ** BigInt(Math.max(power, 0))
  const bottom = 10n ** BigInt(Math.max(-power, 0))
  const rounded = (2n * top + bottom) / (2n * bottom)
  return rounded === 0n && value > 0 ? 1n : rounded
}

describe('toMicro', () => {
  it.each<[number, bigint]>([
    [0, 0n],
    [-0, 0n],
    [5e-324, 1n],
    [1e-9, 1n],
    [4e-7, 1n],
    [5e-7, 1n],
    [1e-6, 1n],
    [0.0000014, 1n],
    [0.0000015, 2n],
    [1.0000004999, 1_000_000n],
    [1.0000015, 1_000_002n],
    [2.0000005, 2_000_001n],
    [0.1 + 0.2, 300_000n],
    [0.9999995, 1_000_000n],
    [42.5, 42_500_000n],
    [12345678.1234565, 12_345_678_123_457n],
    [8e9 + 0.000001, 8_000_000_000_000_001n],
    [999_999_999_999.9999, 999_999_999_999_999_900n],
    [1e12, 1_000_000_000_000_000_000n],
  ])('%d', (value, micro) => {
    expect(toMicro(value)).toBe(micro)
  })

  it('rounds half up from the shortest decimal of every double', () => {
    fc.assert(
      fc.property(anyAmount, (value) => {
        expect(toMicro(value)).toBe(roundByHand(value))
      }),
      { numRuns: 20_000 },
    )
  })

  it('counts ten thousand times 0.1 as 1000', () => {
    expect(Array.from({ length: 10_000 }, () => toMicro(0.1)).reduce((sum, micro) => sum + micro)).toBe(toMicro(1000))
  })

  it.each([-1, -1e-9, 1e12 + 0.001, 1e22, Infinity, Number.NaN])('%d is no amount', (value) => {
    expect(() => toMicro(value)).toThrow(RangeError)
  })
})

const bits = new DataView(new ArrayBuffer(8))

/** The next double up or down. */
function neighbour(value: number, step: 1n | -1n): number {
  bits.setFloat64(0, value)
  bits.setBigInt64(0, bits.getBigInt64(0) + step)
  return bits.getFloat64(0)
}

/** How far a double is from a number of micro-units, in parts of 2^-80 of one: exact, for the doubles compared here. */
function distance(value: number, micro: bigint): bigint {
  const whole = Math.trunc(value)
  const exact = (BigInt(whole) << 80n) + BigInt((value - whole) * 2 ** 80)
  const difference = exact * 1_000_000n - (micro << 80n)
  return difference < 0n ? -difference : difference
}

describe('fromMicro', () => {
  it.each<[bigint, number]>([
    [0n, 0],
    [1n, 1e-6],
    [42_500_000n, 42.5],
    [300_000n, 0.3],
    [8_000_000_000_000_001n, 8_000_000_000.000001],
    // Rounding to a whole double first, and then again by the division, would be one double off.
    [9_007_199_254_740_993n, 9_007_199_254.740993],
    [1_000_000_000_000_000_000n, 1e12],
  ])('%d', (micro, value) => {
    expect(fromMicro(micro)).toBe(value)
  })

  it('is the nearest double, with an error of at most half a step', () => {
    const anyMicro = fc.oneof(fc.bigInt(1n, 10n ** 18n), fc.bigInt(9n * 10n ** 15n, 10n ** 18n))
    fc.assert(
      fc.property(anyMicro, (micro) => {
        const value = fromMicro(micro)
        for (const step of [1n, -1n] as const)
          expect(distance(value, micro) <= distance(neighbour(value, step), micro)).toBe(true)
      }),
      { numRuns: 20_000 },
    )
  })

  it('gives back what it was made of up to 8e9', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 8n * 10n ** 15n), (micro) => {
        expect(toMicro(fromMicro(micro))).toBe(micro)
      }),
      { numRuns: 5_000 },
    )
  })
})
