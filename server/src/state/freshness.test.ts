import { beforeEach, describe, expect, test } from 'vitest'
import type { Moment } from '../concurrency/moment.js'
import { ConfirmedFreshness } from './freshness.js'

let now: { monotonicMs: number; wallMs: number }
let freshness: ConfirmedFreshness
const moment = (): Moment => ({ ...now })
beforeEach(() => {
  now = { monotonicMs: 100, wallMs: 1_000_000 }
  freshness = new ConfirmedFreshness(moment)
})
const pass = (monotonicMs: number, wallMs = monotonicMs) => {
  now.monotonicMs += monotonicMs
  now.wallMs += wallMs
}
const stale = expect.objectContaining({ code: 'replica_stale' })

describe('memory', () => {
  test('is not fresh before it was confirmed', () => {
    expect(freshness.isFresh).toBe(false)
    expect(() => freshness.snapshot()).toThrow(stale)
  })

  test('is fresh for 2 s from the moment before the look, however long that took', () => {
    const before = moment()
    pass(1500)
    freshness.confirm(before)
    pass(500)
    expect(freshness.snapshot().confirmed).toEqual(before)
    pass(1)
    expect(() => freshness.snapshot()).toThrow(stale)
    expect(freshness.isFresh).toBe(false)
  })

  test('is old when the machine slept, though the monotonic clock stood still', () => {
    freshness.confirm(moment())
    pass(10, 2100)
    expect(() => freshness.snapshot()).toThrow(stale)
  })

  test('is old when the other clock was set back meanwhile', () => {
    freshness.confirm(moment())
    pass(2100, -60_000)
    expect(() => freshness.snapshot()).toThrow(stale)
  })

  test('is not older for a look that ends after a later one', () => {
    const early = moment()
    pass(1500)
    freshness.confirm(moment())
    freshness.confirm(early)
    pass(1500)
    expect(freshness.isFresh).toBe(true)
  })
})

describe('an answer that was long in the making', () => {
  test('is true while others changed nothing and memory is fresh', () => {
    freshness.confirm(moment())
    const snapshot = freshness.snapshot()
    pass(5000)
    expect(freshness.isCurrent(snapshot)).toBe(false)
    freshness.confirm(moment())
    expect(freshness.isCurrent(snapshot)).toBe(true)
  })

  test('is true for 2 s after the look that it rests on when others have changed something since', () => {
    freshness.confirm(moment())
    pass(500)
    const snapshot = freshness.snapshot()
    freshness.changed()
    freshness.confirm(moment())
    pass(1500)
    expect(freshness.isCurrent(snapshot)).toBe(true)
    pass(1)
    expect(freshness.isCurrent(snapshot)).toBe(false)
    expect(freshness.isCurrent(freshness.snapshot())).toBe(true)
  })
})
