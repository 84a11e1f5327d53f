import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keepText, oneLineOfJson, parseJson, plainOf, respelled, textOfJson } from './exact-json.js'
import type { ExactNumber } from './exact-number.js'

const SPELLINGS = [
  '9007199254740993',
  '-9007199254740993',
  '12345678901234567891',
  '9007199254740993.0',
  '1e17',
  '1e400',
  '-1e400',
  '1e-400',
  '1.0',
  '1.50',
  '1E5',
  '1e+5',
  '1e05',
  '100e-2',
  '-0',
  '-0.0',
  '0.0',
  '0e7',
  '0.1000000000000000055511151231257827',
  '3.14159265358979323846',
  '1e-7',
  '0.0000001',
  '5e-324',
  '1',
  '-1',
  '0',
  '1.5',
]

const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?([eE][+-]?\d{1,3})?$/)

/** JSON texts of any form, with numbers of any spelling. */
const { text } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(digits, fc.constantFrom(...SPELLINGS, 'true', 'false', 'null')),
    fc.string({ unit: 'binary' }).map((one) => JSON.stringify(one)),
    fc.array(tie('text')).map((parts) => `[${parts.join(' ,\n')}]`),
    fc
      .dictionary(fc.string(), tie('text'))
      .map((parts) => `{${Object.entries(parts).map(([name, part]) => `${JSON.stringify(name)} :${part}`)}}`),
  ),
}))

describe('numbers', () => {
  it.each(SPELLINGS)('%s keeps its digits', (spelling) => {
    const written = `{"a":[${spelling}],"1e400":"${spelling}"}`
    expect(textOfJson({ ...(parseJson(written) as object) })).toBe(written)
    expect(textOfJson(parseJson(spelling))).toBe(spelling)
  })

  it('keep their digits wherever they stand, and nothing else changes', () => {
    fc.assert(
      fc.property(text, (one) => {
        const parsed = parseJson(one)
        expect(plainOf(parsed)).toEqual(JSON.parse(one))
        // A text that is not written unchanged has all numbers, in their order, unchanged.
        expect(numbersOf(textOfJson({ parsed }))).toEqual(numbersOf(reordered(one)))
        expect(JSON.parse(textOfJson({ parsed }))).toEqual({ parsed: JSON.parse(one) })
      }),
    )
  })

  it('are no numbers within strings and names', () => {
    const written = '{"1.0":"1.0 \\"1.0\\\\","\\\\":"\\\\\\"1E5","a":1.0}'
    expect(textOfJson({ ...(parseJson(written) as object) })).toBe(written)
  })

  it.each(['{1.0:2}', '[1.0 1.0]', '[01]', '[1.]', '[.5]', '[+1]', '[1e]', '[--1]', '[1.0', '"1.0', '[1.0]1.0', ''])(
    'do not make JSON of %s',
    (written) => expect(() => parseJson(written)).toThrow(SyntaxError),
  )

  it('are doubles for anyone who writes them otherwise', () => {
    expect(JSON.stringify(parseJson('[1.0,9007199254740993,1e-400]'))).toBe('[1,9007199254740992,0]')
  })

  it('take linear time', () => {
    const zeros = '0'.repeat(1_000_000)
    const hard = [`1.${zeros}1`, `1${zeros}`, `0.${zeros}`, `"${'\\\\'.repeat(500_000)}"`, `"${'\\"'.repeat(500_000)}"`]
    for (const one of hard)
      expect(textOfJson(respelled(plainOf(parseJson(one)), parseJson(one))).length).toBeGreaterThan(0)
  })
})

describe('a text', () => {
  const kept = (written: string, change: object = {}): string => {
    const parsed = parseJson(written) as object
    const made = { ...parsed, ...change }
    keepText(parsed, made)
    return textOfJson(made)
  }

  it('is written as it came', () => {
    const written = ' {"b": "\\u00e4\\/",\t"1" : [1.0, {"a" : {}}],\n"a": -0 } '
    expect(kept(written)).toBe(written)
    const parsed = parseJson(written) as object
    keepText(parsed, parsed)
    expect(oneLineOfJson(parsed)).toBe('{"1":[1.0,{"a":{}}],"b":"ä/","a":-0}')
  })

  it.each(['{"a":1,"a":2}', '{"b":[{"a":1.0,"\\u0061":2}]}', '{"__proto__":1,"__proto__":2}'])(
    'that gives a member twice is written by what was read: %s',
    (written) => expect(kept(written)).toBe(textOfJson({ ...(parseJson(written) as object) })),
  )

  it('that has other members than what is made of it is none of it', () => {
    expect(kept('{"a": 1}', { b: 2 })).toBe('{"a":1,"b":2}')
    const parsed = parseJson('{"a": 1, "b": 2}') as object
    const made = { a: 1 }
    keepText(parsed, made)
    expect(textOfJson(made)).toBe('{"a":1}')
  })
})

describe('what is made of a message', () => {
  it('has the spellings of the same numbers at the same places', () => {
    const parsed = parseJson('{"a":1.0,"b":[1E5,-0,2.50],"c":{"d":1.0}}')
    const made = { b: [100_000, -0, 2.6], a: 1, c: { d: 2 }, e: 1 }
    expect(textOfJson(respelled(made, parsed))).toBe('{"b":[1E5,-0,2.6],"a":1.0,"c":{"d":2},"e":1}')
  })

  it('has no digits that the gate has not read', () => {
    fc.assert(
      fc.property(digits, (one) => {
        const parsed = parseJson(`[${one}]`)
        const [value] = plainOf(parsed) as [number]
        const [made] = parseJson(textOfJson(respelled([value], parsed))) as [number | ExactNumber]
        if (Number.isFinite(value) && Math.abs(value) < 2 ** 53 && (value !== 0 || isZero(one)))
          expect(isSameValue(String(made), String(value))).toBe(true)
      }),
    )
  })
})

function numbersOf(written: string): string[] {
  return [...written.matchAll(/"(?:[^"\\]|\\.)*"|(-?\d[\d.eE+-]*)/g)].flatMap(([, number]) => number ?? [])
}

/** The text with the members in the order of JavaScript objects. */
function reordered(written: string): string {
  const strings = written.replace(/("(?:[^"\\]|\\.)*")|-?\d[\d.eE+-]*/g, (token, isString) =>
    isString ? token : `"\uE000${token}"`,
  )
  return JSON.stringify(JSON.parse(strings)).replace(/"\uE000(-?\d[\d.eE+-]*)"/g, '$1')
}

function isZero(written: string): boolean {
  return !/[1-9]/.test(written.split(/e/i)[0] ?? '')
}

/** Compares with integers of any size. */
function isSameValue(one: string, other: string): boolean {
  const [a, b] = [fractionOf(one), fractionOf(other)]
  return a.over * b.under === b.over * a.under
}

function fractionOf(written: string): { over: bigint; under: bigint } {
  const [mantissa = '', power = '0'] = written.split(/e/i)
  const [whole = '', fraction = ''] = mantissa.split('.')
  const exponent = Number(power) - fraction.length
  const over = BigInt(`${whole}${fraction}`.replace(/^-0+(?=\d)/, '-'))
  return exponent >= 0 ? { over: over * 10n ** BigInt(exponent), under: 1n } : { over, under: 10n ** BigInt(-exponent) }
}
