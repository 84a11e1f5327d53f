import { compilePattern, matchesPattern } from '@countersign/engine'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { patternTest } from '#server/adapters/store-sqlite/agent-patterns'

/** The definition itself: slow, but plain. */
function matchesByDefinition(pattern: string, text: string): boolean {
  if (pattern === '') return text === ''
  if (pattern[0] !== '*') return text[0] === pattern[0] && matchesByDefinition(pattern.slice(1), text.slice(1))
  return matchesByDefinition(pattern.slice(1), text) || (text !== '' && matchesByDefinition(pattern, text.slice(1)))
}

describe('patternTest', () => {
  it('agrees with the definition of *', () => {
    const short = (alphabet: string) => fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 8 })
    fc.assert(
      fc.property(short('ab*'), short('ab'), (pattern, text) => {
        expect(patternTest([pattern])(text)).toBe(matchesByDefinition(pattern, text))
      }),
      { numRuns: 5000 },
    )
  })

  it('agrees with the engine, which decides what a bound key may ask', () => {
    const text = (alphabet: string) => fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 30 })
    fc.assert(
      fc.property(text('ab:.[?*'), text('ab:.['), (pattern, agentId) => {
        expect(patternTest([pattern])(agentId)).toBe(matchesPattern(compilePattern(pattern), agentId))
      }),
      { numRuns: 5000 },
    )
  })

  it.each(['agent[7]', 'agent?', 'agent.7', 'AGENT-7', 'agent\\-7', '%', '_______'])(
    'takes %s for nothing special',
    (pattern) => {
      expect(patternTest([pattern])('agent-7')).toBe(false)
      expect(patternTest([pattern])(pattern)).toBe(true)
    },
  )

  it('takes one of several patterns', () => {
    const matches = patternTest(['billing-*', 'agent:7'])
    expect(['billing-1', 'agent:7', 'agent:77'].map(matches)).toEqual([true, true, false])
    expect(patternTest([])('agent:7')).toBe(false)
  })

  it('looks at each character a bounded number of times, however hostile the pattern', () => {
    const text = 'a'.repeat(200_000)
    for (const pattern of [`*${'a*'.repeat(127)}b`, `*${'a'.repeat(100_000)}b*a`, `${'*a'.repeat(128)}*c*`]) {
      expect(patternTest([pattern])(text)).toBe(false)
    }
  })
})
