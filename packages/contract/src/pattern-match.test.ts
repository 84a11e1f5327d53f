import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePattern, matchesPattern, patternTest } from './pattern-match.js'

const textOver = (alphabet: string, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...alphabet), maxLength, minLength: 0 })

function matches(source: string, text: string): boolean {
  return matchesPattern(compilePattern(source), text)
}

/** The definition itself: slow, but plain. */
function matchesByDefinition(pattern: string, text: string): boolean {
  if (pattern === '') return text === ''
  if (pattern[0] !== '*') return text[0] === pattern[0] && matchesByDefinition(pattern.slice(1), text.slice(1))
  return matchesByDefinition(pattern.slice(1), text) || (text !== '' && matchesByDefinition(pattern, text.slice(1)))
}

/** Each text between stars at its first place after the one before, compared one place after the other. */
function matchesPlaceByPlace(pattern: string, text: string): boolean {
  const [prefix, ...pieces] = pattern.split('*') as [string, ...string[]]
  const suffix = pieces.pop()
  if (suffix === undefined) return text === prefix
  if (text.length < prefix.length + suffix.length || text.slice(0, prefix.length) !== prefix) return false
  const end = text.length - suffix.length
  if (text.slice(end) !== suffix) return false
  let from = prefix.length
  for (const piece of pieces) {
    while (from + piece.length <= end && text.slice(from, from + piece.length) !== piece) from += 1
    from += piece.length
    if (from > end) return false
  }
  return true
}

/** What a match does with its text: how many characters it reads, and which pieces it looks up natively from where on. */
function watched(match: () => boolean) {
  const { charCodeAt, indexOf } = String.prototype
  const searches: (readonly [piece: string, from: number])[] = []
  let reads = 0
  String.prototype.indexOf = function (piece, from = 0) {
    searches.push([piece, from])
    return indexOf.call(this, piece, from)
  }
  String.prototype.charCodeAt = function (at) {
    reads += 1
    return charCodeAt.call(this, at)
  }
  try {
    return { isMatch: match(), reads, searches }
  } finally {
    Object.assign(String.prototype, { charCodeAt, indexOf })
  }
}

describe('a pattern', () => {
  it('agrees with the definition of *', () => {
    fc.assert(
      fc.property(textOver('ab*', 8), textOver('ab', 8), (source, text) => {
        expect(matches(source, text)).toBe(matchesByDefinition(source, text))
      }),
      { numRuns: 5000 },
    )
  })

  it('matches what the regular expression with .* for each star matches', () => {
    fc.assert(
      fc.property(textOver('ab*', 7), textOver('ab', 30), (source, text) => {
        expect(matches(source, text)).toBe(new RegExp(`^${source.replaceAll('*', '.*')}$`).test(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('finds pieces of every length, at every place, with halves of surrogate pairs', () => {
    // Around 128 characters the way of searching changes; repeated texts begin again inside themselves.
    const run = fc
      .tuple(textOver('ab\ud83d\ude00☃', 5), fc.constantFrom(1, 2, 40, 63, 64, 65))
      .map(([text, times]) => text.repeat(times))
    const runs = fc.array(run, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(runs, runs, runs, (pieces, between, cut) => {
        const source = `*${pieces.join('*')}*${cut[0]}`
        const text = pieces.map((piece, at) => `${between[at % between.length]}${piece}`).join('') + cut.join('')
        for (const shown of [text, text.slice(1), text.slice(0, -1)])
          expect(matches(source, shown)).toBe(matchesPlaceByPlace(source, shown))
      }),
      { numRuns: 500 },
    )
  })

  it('takes every other character for itself', () => {
    expect(matches('a.c', 'abc')).toBe(false)
    expect(matches('[a-z]?', '[a-z]?')).toBe(true)
    expect(matches('*\n*', 'a\nb')).toBe(true)
    expect(matches('*ab', 'ab')).toBe(true)
    expect(matches('ab*ba', 'aba')).toBe(false)
    expect(matches('*é*', 'caf\u00e9s')).toBe(true)
    expect(matches('*\u0100*', '\u0000')).toBe(false)
  })

  it.each(['agent[7]', 'agent?', 'agent.7', 'AGENT-7', 'agent\\-7', '%', '_______'])(
    'takes %s for nothing special',
    (source) => {
      expect(matches(source, 'agent-7')).toBe(false)
      expect(matches(source, source)).toBe(true)
    },
  )

  it('reads each character of a text a few times at most, where going back would take the square', () => {
    const half = 'a'.repeat(256)
    const long = 'a'.repeat(200_000)
    const sources = [`*${half}b*${half}`, `*${'a*'.repeat(200)}b*`, `*${'a'.repeat(60_000)}b*a`]
    for (const length of [6, 64, 128, 129, 255, 510])
      for (const at of [0, length >> 1, length - 1]) sources.push(`*${'a'.repeat(at)}b${'a'.repeat(length - at - 1)}*`)
    for (const source of sources) {
      const { isMatch, reads, searches } = watched(() => matches(source, long))
      expect(isMatch).toBe(false)
      expect(reads).toBeLessThanOrEqual(4 * (long.length + source.length))
      // A native search looks no piece up that is long, goes on behind the one before, and is the last that finds nothing.
      for (const [piece] of searches) expect(piece.length).toBeLessThanOrEqual(128)
      const places = searches.map(([, from]) => from)
      expect(places).toEqual([...places].sort((one, other) => one - other))
      expect(places.length).toBeLessThanOrEqual(source.split('*').length)
    }
  })
})

describe('patternTest', () => {
  it('takes one of several patterns', () => {
    const test = patternTest(['billing-*', 'agent:7'])
    expect(['billing-1', 'agent:7', 'agent:77'].map(test)).toEqual([true, true, false])
    expect(patternTest([])('agent:7')).toBe(false)
  })
})
