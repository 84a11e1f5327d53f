import fc from 'fast-check'
import { TypeID } from 'typeid-js'
import { v7 } from 'uuid'
import { describe, expect, test } from 'vitest'
import { typeid } from '../typeid.js'
import { typeidIds } from './typeid-ids.js'

const MAX_MS = 2 ** 48 - 1
const MAX_COUNTER = 2 ** 32 - 1

describe('an id', () => {
  test('is the TypeID of the UUIDv7 that known libraries make', () => {
    const uuids = fc.record({
      msecs: fc.oneof(fc.integer({ min: 0, max: MAX_MS }), fc.constantFrom(0, MAX_MS)),
      seq: fc.oneof(fc.integer({ min: 0, max: MAX_COUNTER }), fc.constantFrom(0, 2 ** 20 - 1, 2 ** 20, MAX_COUNTER)),
      random: fc.uint8Array({ minLength: 16, maxLength: 16 }),
    })
    fc.assert(
      fc.property(uuids, fc.constantFrom('dec', 'aud'), ({ msecs, seq, random }, prefix) => {
        const theirs = TypeID.fromUUIDBytes(prefix, v7({ msecs, seq, random }, new Uint8Array(16))).toString()
        expect(typeid(prefix, msecs, seq, Buffer.from(random).readUIntBE(10, 6))).toBe(theirs)
      }),
      { numRuns: 1000 },
    )
  })

  test('whose counter overflows sorts behind those before it', () => {
    const ids = [MAX_COUNTER, MAX_COUNTER + 1].map((sequence) => typeid('dec', 1_800_000_000_000, sequence, 0))
    expect(ids[1]).toBe(typeid('dec', 1_800_000_000_001, 0, 0))
    expect(ids).toEqual(ids.toSorted())
  })
})

test('ids sort in the order of their creation, even when time stands still or goes back', () => {
  const times = [1_800_000_000_000, 1_800_000_000_000, 1_799_999_999_999, 1_800_000_000_001]
  const ids = typeidIds({ now: () => new Date(times[0] as number) })
  const made = times.flatMap((time) => {
    times[0] = time
    return Array.from({ length: 1000 }, () => ids.next('dec'))
  })
  expect(made).toEqual([...new Set(made)].sort())
})

test('no two salts, and no random parts of two ids, are the same', () => {
  const ids = typeidIds({ now: () => new Date(0) })
  const salts = Array.from({ length: 2000 }, () => ids.salt())
  expect(new Set(salts).size).toBe(2000)
  for (const salt of salts) expect(Buffer.from(salt, 'base64url')).toHaveLength(16)
  const parts = salts.map(() => ids.next('aud').slice(-8))
  expect(new Set(parts).size).toBe(2000)
})
