import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isSafeNumber } from './exact-number.js'
import { countsOf, readExactly } from './valid-json.js'

const digits = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][+-]?\d{1,3})?$/),
  fc.stringMatching(/^-?0\.0{0,9}\d{1,4}$/),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
)

describe('a number', () => {
  it('is odd if JavaScript would write it otherwise, or cannot hold it', () => {
    fc.assert(
      fc.property(digits, (one) => {
        const isPlain = String(Number(one)) === one && isSafeNumber(Number(one))
        expect(countsOf(`[${one}]`).oddNumbers).toBe(isPlain ? 0 : 1)
        expect(readExactly(one)).toEqual(isPlain ? Number(one) : expect.objectContaining({}))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('a text', () => {
  it('is counted outside its strings alone', () => {
    const text = '{"a,[{:1.0": [1.0, {}, "\\\\\\"1.0,", []], "b": {"c": null}, "b": 1E5}'
    expect(countsOf(text)).toEqual({ oddNumbers: 2, members: 4, values: 10, levels: 3 })
  })

  it('gives what JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('', ' ', '\n\t'), (text, space) => {
        const spaced = `${space}${text}${space}`
        expect(JSON.stringify(readExactly(spaced))).toBe(JSON.stringify(JSON.parse(spaced)))
      }),
    )
    const own = '{"__proto__":{"a":true},"a":1,"b":[null,false],"a":2}'
    expect(JSON.stringify(readExactly(own))).toBe(JSON.stringify(JSON.parse(own)))
  })
})
