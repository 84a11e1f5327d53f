import fc from 'fast-check'
import { expect, it } from 'vitest'
import { PersistentMap } from './persistent-map.js'

function contentOf(map: PersistentMap<number>): number[] {
  return [...map.values()].sort((one, other) => one - other)
}

it('holds what a plain map holds after the same changes, and leaves its earlier copies alone', () => {
  const change = fc.tuple(fc.integer({ min: 0, max: 150 }), fc.option(fc.nat(), { nil: undefined }))
  fc.assert(
    fc.property(fc.nat(200), fc.array(change, { maxLength: 100 }), (start, changes) => {
      const plain = new Map(Array.from({ length: start }, (_, at) => [`key-${at}`, at]))
      let map = PersistentMap.of(new Map(plain))
      for (const [at, value] of changes) {
        const earlier = { map, size: map.size, content: contentOf(map) }
        const key = `key-${at}`
        map = map.with(key, value)
        if (value === undefined) plain.delete(key)
        else plain.set(key, value)
        expect(map.get(key)).toBe(value)
        expect(earlier.map.size).toBe(earlier.size)
        expect(contentOf(earlier.map)).toEqual(earlier.content)
      }
      expect(map.size).toBe(plain.size)
      expect(contentOf(map)).toEqual([...plain.values()].sort((one, other) => one - other))
      for (const [key, value] of plain) expect(map.get(key)).toBe(value)
    }),
    { numRuns: 200 },
  )
})
