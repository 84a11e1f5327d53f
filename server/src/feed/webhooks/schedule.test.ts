import { describe, expect, it } from 'vitest'
import { ATTEMPT_DELAYS_MS, delayAfter, retryAfterMs } from './schedule.js'

const HOUR_MS = 3_600_000

describe('the schedule of a delivery', () => {
  it('makes 10 attempts in 75 hours and 35 minutes', () => {
    expect(ATTEMPT_DELAYS_MS).toHaveLength(10)
    const sum = ATTEMPT_DELAYS_MS.reduce((total, delay) => total + delay, 0)
    expect(sum).toBe(75 * HOUR_MS + 35 * 60_000 + 5000)
  })

  it('varies each delay by a tenth at most', () => {
    for (let attempts = 1; attempts < 10; attempts++) {
      const stated = ATTEMPT_DELAYS_MS[attempts] as number
      expect(delayAfter(attempts, null, () => 0)).toBe(stated * 0.9)
      expect(delayAfter(attempts, null, () => 0.5)).toBe(stated)
      expect(delayAfter(attempts, null, () => 1 - Number.EPSILON)).toBe(Math.round(stated * 1.1))
    }
  })

  it('ends after the tenth', () => {
    expect(delayAfter(10, null, () => 0.5)).toBeNull()
    expect(delayAfter(10, 1000, () => 0.5)).toBeNull()
    expect(delayAfter(11, null, () => 0.5)).toBeNull()
  })

  it('waits as long as the receiver asks, for a day at most, and never less than it would', () => {
    expect(delayAfter(1, 60_000, () => 0.5)).toBe(60_000)
    expect(delayAfter(1, 1000, () => 0.5)).toBe(5000)
    expect(delayAfter(1, 900 * HOUR_MS, () => 0.5)).toBe(24 * HOUR_MS)
  })
})

describe('Retry-After', () => {
  const now = new Date('2026-11-22T10:00:00.000Z')

  it.each([
    ['120', 120_000],
    [' 5 ', 5000],
    ['0', 0],
    ['99999999999999999999', 24 * HOUR_MS],
    ['Sun, 22 Nov 2026 10:00:30 GMT', 30_000],
    ['Sunday, 22-Nov-26 10:00:30 GMT', 30_000],
    ['Sun, 22 Nov 2026 09:59:59 GMT', null],
    ['Fri, 01 Jan 2100 00:00:00 GMT', 24 * HOUR_MS],
  ])('reads %j', (header, expected) => expect(retryAfterMs(header, now)).toBe(expected))

  it.each([undefined, '', '-1', '1.5', '1e9', 'soon', '2026-11-22T10:00:30.000Z', 'Xxx, never GMT'])(
    'ignores %j',
    (header) => expect(retryAfterMs(header, now)).toBeNull(),
  )
})
