import { beforeEach, describe, expect, test } from 'vitest'
import { ConfirmedFreshness, type Moment } from './freshness.js'

let now: { monotonicMs: number; wallMs: number }
let freshness: ConfirmedFreshness
const moment = (): Moment => ({ ...now })
beforeEach(() => {
  now = { monotonicMs: 100, wallMs: 1_000_000 }
  freshness = new ConfirmedFreshness(moment)
})
/** Time passes while the process works. */
const pass = (monotonicMs: number, wallMs = monotonicMs) => {
  for (let i = 0; i < 10; i++) {
    freeze(monotonicMs / 10, wallMs / 10)
    freshness.tick()
  }
}
const freeze = (monotonicMs: number, wallMs = monotonicMs) => {
  now.monotonicMs += monotonicMs
  now.wallMs += wallMs
}
const stale = expect.objectContaining({ code: 'replica_stale' })

describe('memory', () => {
  test('is not fresh before it was confirmed', () => {
    expect(freshness.isFresh).toBe(false)
    expect(() => freshness.use()).toThrow(stale)
  })

  test('is fresh for 5 s from the moment before the look, however long that took', () => {
    const before = moment()
    pass(4000)
    freshness.confirm(before)
    pass(1000)
    expect(freshness.use()).toEqual(before)
    pass(1)
    expect(() => freshness.use()).toThrow(stale)
    expect(freshness.isFresh).toBe(false)
  })

  test('is old when the machine slept, though the monotonic clock stood still', () => {
    freshness.confirm(moment())
    freeze(10, 6000)
    expect(() => freshness.use()).toThrow(stale)
  })

  test('is old when the other clock was set back meanwhile', () => {
    freshness.confirm(moment())
    pass(6000, -60_000)
    expect(() => freshness.use()).toThrow(stale)
  })

  test('is not older for a look that ends after a later one', () => {
    const early = moment()
    pass(3000)
    freshness.confirm(moment())
    freshness.confirm(early)
    pass(4000)
    expect(freshness.isFresh).toBe(true)
  })
})

describe('a process that was frozen for longer than its timers may be late', () => {
  test.each([
    ['is asked before its timers come', () => {}],
    ['is asked after them', () => freshness.tick()],
  ])('is not fresh, until it has looked again, when it %s', (_, wake) => {
    freshness.confirm(moment())
    const used = freshness.use()
    freeze(2100)
    wake()
    expect(() => freshness.use()).toThrow(stale)
    expect(() => freshness.assertStill(used)).toThrow(stale)
    freshness.tick()
    freshness.confirm({ ...now, monotonicMs: now.monotonicMs - 2100 })
    expect(freshness.isFresh).toBe(false)
    freshness.confirm(moment())
    expect(freshness.isFresh).toBe(true)
  })
})

test('an answer by rules that have become old does not leave, though memory is fresh again', () => {
  freshness.confirm(moment())
  const used = freshness.use()
  freshness.assertStill(used)
  pass(6000)
  freshness.confirm(moment())
  freshness.use()
  expect(() => freshness.assertStill(used)).toThrow(stale)
})
