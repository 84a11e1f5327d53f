import { compilePattern, matchesPattern } from '@countersign/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coversPattern, matchesEverything, patternsOverlap } from './pattern.js'

const LETTERS = 'ab'
const pattern = fc.string({ unit: fc.constantFrom(...LETTERS, '*'), minLength: 1, maxLength: 7 })

function matches(source: string, wanted: string): boolean {
  return matchesPattern(compilePattern(source), wanted)
}

/** All texts of the two letters up to this length: long enough for any two patterns of the properties. */
function allTexts(longest: number): string[] {
  const texts = ['']
  for (let at = 0; (texts[at] as string).length < longest; at += 1) {
    for (const letter of LETTERS) texts.push(`${texts[at]}${letter}`)
  }
  return texts
}

describe('two patterns', () => {
  it('overlap exactly when some text matches both', () => {
    const texts = allTexts(12)
    const short = fc.string({ unit: fc.constantFrom(...LETTERS, '*'), minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(short, short, (one, other) => {
        const common = texts.some((wanted) => matches(one, wanted) && matches(other, wanted))
        expect(patternsOverlap(compilePattern(one), compilePattern(other))).toBe(common)
      }),
      { numRuns: 300 },
    )
  })

  it('cover one another only when every text of the narrow one matches the wide one', () => {
    const texts = allTexts(9)
    fc.assert(
      fc.property(pattern, pattern, (wide, narrow) => {
        fc.pre(coversPattern(compilePattern(wide), compilePattern(narrow)))
        for (const wanted of texts) {
          if (matches(narrow, wanted)) expect(matches(wide, wanted)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('cover as one would think', () => {
    const covers = (wide: string, narrow: string) => coversPattern(compilePattern(wide), compilePattern(narrow))
    expect(covers('payment.*', 'payment.refund')).toBe(true)
    expect(covers('*', 'p*y')).toBe(true)
    expect(covers('p*y', '*')).toBe(false)
    expect(covers('payment.*', '*.refund')).toBe(false)
  })
})

it('stars alone match everything', () => {
  expect(['*', '***'].map(matchesEverything)).toEqual([true, true])
  expect(['', 'a*', '*:*'].map(matchesEverything)).toEqual([false, false, false])
})
