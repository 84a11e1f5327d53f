import { describe, expect, test } from 'vitest'
import { createSeenPermits } from './seen-permits.js'

describe('the memory of seen permits', () => {
  test('knows a permit until it is over, and makes room for others then', () => {
    let seconds = 100
    const seen = createSeenPermits({ max: 2, now: () => seconds * 1000 })
    expect(seen.add('dec_1', 160)).toBe(true)
    expect(seen.add('dec_2', 200)).toBe(true)
    seconds = 159
    expect(seen.add('dec_1', 160)).toBe(false)
    expect(() => seen.add('dec_3', 300)).toThrow(/2 permits/)
    seconds = 160
    expect(seen.add('dec_3', 300)).toBe(true)
    expect(seen.add('dec_2', 200)).toBe(false)
    expect(() => seen.add('dec_4', 300)).toThrow(/2 permits/)
  })

  test('forgets what is over without being full', () => {
    let seconds = 100
    const seen = createSeenPermits({ now: () => seconds * 1000 })
    seen.add('dec_1', 130)
    seconds = 131
    expect(seen.add('dec_1', 130)).toBe(false)
    seconds = 161
    seen.add('dec_2', 400)
    expect(seen.add('dec_1', 130)).toBe(true)
  })
})
