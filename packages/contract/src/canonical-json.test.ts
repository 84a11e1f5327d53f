import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from './canonical-json.js'

/** Any text, half of it of characters that are hard to sort or to write. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('\0', '\b', '\n', '\u001f', ' ', '"', '\\', '/', '\u007f', '1', 'a', 'é', '\u2028'),
  }),
  fc.string({ unit: fc.constantFrom('\ufb33', '\u{1f600}', '\ue000', '\uffff', '\u{10000}', '\ud7ff', 'z') }),
)

const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(fc.oneof(tie('value'), fc.constant(undefined))),
    fc.dictionary(fc.oneof(text, fc.constant('toString')), fc.oneof(tie('value'), fc.constant(undefined))),
  ),
}))

describe('the canonical form of a JSON value', () => {
  test('is the one that a known library gives', () => {
    fc.assert(fc.property(json, (value) => canonicalJson(value) === canonicalize(value)))
  })

  test('says what JSON.parse reads as the same value', () => {
    const read = (text: string): unknown => JSON.parse(text)
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(read(canonicalJson(value))).toEqual(read(JSON.stringify(value)))
      }),
    )
  })

  test.each([
    ['a date', new Date(0)],
    ['an object that speaks for itself', { of: { toJSON: () => ({ b: [1], a: 'x' }) } }],
    ['a member that only looks like it', { toJSON: 'text' }],
    ['a boxed text', { of: Object('text') }],
    ['a symbol', { a: Symbol('a'), b: [Symbol('b')] }],
    ['an object twice', ((one) => ({ a: one, b: [one, one] }))({ c: 1 })],
    ['an object without a prototype', Object.assign(Object.create(null), { b: 1, a: 2 })],
    ['inherited members', Object.create({ a: 1 })],
    ['names like numbers', { 10: 'a', 9: 'b', '-1': 'c', '01': 'd' }],
  ])('treats %s as the library does', (_, value) => {
    expect(canonicalJson(value)).toBe(canonicalize(value))
  })
})

describe('what JSON cannot hold', () => {
  const cycle: { a: unknown[] } = { a: [] }
  cycle.a.push({ b: cycle })
  const itself = { toJSON: () => itself }
  const CASES: [string, unknown][] = [
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['negative infinity', Number.NEGATIVE_INFINITY],
    ['the first half of a surrogate pair', 'a\ud800'],
    ['the second half of a surrogate pair', '\udfffb'],
    ['a surrogate pair the wrong way round', '\udc00\ud800'],
    ['half of a surrogate pair beside a whole one', '\u{1f600}\ud83d'],
    ['a cycle', cycle],
    ['an object that answers with itself', itself],
    ['a big integer', 1n],
  ]
  test.each(CASES)('is refused: %s', (_, value) => {
    for (const held of [value, [1, value], { a: 1, b: value }]) {
      expect(() => canonicalize(held)).toThrow()
      expect(() => canonicalJson(held)).toThrow(TypeError)
    }
  })

  test('is refused as the name of a member', () => {
    expect(() => canonicalJson({ '\ud800': 1 })).toThrow(TypeError)
  })

  test('has no text that only looks like one', () => {
    for (const value of [undefined, Symbol('a'), { a: () => 1 }, [() => 1], { a: { toJSON: () => undefined } }])
      expect(() => canonicalJson(value)).toThrow(TypeError)
  })
})
