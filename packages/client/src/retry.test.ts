import { describe, expect, it } from 'vitest'
import { isRetryableStatus, parseRetryAfter, reconnectDelayMs, retryDelayMs } from './retry.js'

describe('retryDelayMs', () => {
  it('spreads over the whole window, which doubles from 50 ms and is capped at 500 ms', () => {
    const longest = [1, 2, 3, 4, 5, 60].map((attempt) => retryDelayMs(attempt, null, 1))
    expect(longest).toEqual([50, 100, 200, 400, 500, 500])
    expect(retryDelayMs(3, null, 0)).toBe(0)
    expect(retryDelayMs(3, null, 0.25)).toBe(50)
  })

  it('never waits less than the server asked for', () => {
    expect(retryDelayMs(1, 2, 0)).toBe(2000)
    expect(retryDelayMs(1, 2, 0.5)).toBe(2025)
  })
})

describe('reconnectDelayMs', () => {
  const asked = { retryAfterSeconds: null }

  it('spreads over the later half of a window that doubles from 250 ms and is capped at 10 s', () => {
    const longest = [1, 2, 3, 6, 7, 5000].map((attempt) => reconnectDelayMs(attempt, asked, 1))
    expect(longest).toEqual([250, 500, 1000, 8000, 10_000, 10_000])
    expect(reconnectDelayMs(3, asked, 0)).toBe(500)
  })

  it('never waits less than the longer of what the stream and the answer asked for, nor longer than an hour', () => {
    expect(reconnectDelayMs(1, { askedMs: 3000, retryAfterSeconds: 2 }, 0)).toBe(3125)
    expect(reconnectDelayMs(1, { askedMs: 1000, retryAfterSeconds: 2 }, 0)).toBe(2125)
    expect(reconnectDelayMs(1, { askedMs: 2 ** 40, retryAfterSeconds: null }, 0)).toBe(3_600_000)
  })
})

describe('parseRetryAfter', () => {
  it.each([
    ['1', 1],
    ['120', 120],
    [null, null],
    ['', null],
    ['-1', null],
    ['1.5', null],
    ['soon', null],
    ['Sat, 21 Nov 2026 10:00:00 GMT', null],
    ['9'.repeat(400), null],
  ])('reads %j as %j', (header, seconds) => {
    expect(parseRetryAfter(header)).toBe(seconds)
  })
})

describe('isRetryableStatus', () => {
  it('takes up 429, 502, 503 and 504 only', () => {
    const all = Array.from({ length: 500 }, (_, offset) => offset + 100)
    expect(all.filter(isRetryableStatus)).toEqual([429, 502, 503, 504])
  })
})
