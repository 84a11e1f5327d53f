import { beforeEach, describe, expect, it } from 'vitest'
import { STEP_MS, SystemClock } from './system-clock.js'

const START = Date.parse('2026-11-21T10:00:00.000Z')
const MONTH_MS = 31 * 86_400_000

let system: number
let monotonic: number
let clock: SystemClock
beforeEach(() => {
  system = START
  monotonic = 5000
  clock = new SystemClock({ systemMs: () => system, monotonicMs: () => monotonic })
})

const now = () => clock.now().getTime() - START
/** Time passes, by both clocks. */
function pass(ms: number): void {
  system += ms
  monotonic += ms
}

describe('a system clock that is right', () => {
  it('is followed, also where it is steered', () => {
    pass(1234)
    expect(now()).toBe(1234)
    system += 3
    expect(now()).toBe(1237)
    pass(MONTH_MS)
    expect(now()).toBe(MONTH_MS + 1237)
  })
})

describe('a system clock that is set back while the server runs', () => {
  it.each([1, 1000, STEP_MS])('by %i ms is waited for, and then followed', (ms) => {
    system -= ms
    expect(now()).toBe(0)
    pass(ms)
    expect(now()).toBe(0)
    pass(1)
    expect(now()).toBe(1)
  })

  it.each([STEP_MS + 1, MONTH_MS])('by %i ms is left alone until it is right again', (ms) => {
    system -= ms
    pass(700)
    expect(now()).toBe(700)
    pass(MONTH_MS)
    expect(now()).toBe(MONTH_MS + 700)
    system += ms
    pass(60_000)
    expect(now()).toBe(MONTH_MS + 60_700)
  })
})

describe('a server that starts from a time', () => {
  it.each([1, STEP_MS])('%i ms ahead of the system clock waits for it', (ms) => {
    clock.startFrom(new Date(START + ms))
    expect(now()).toBe(ms)
    pass(ms)
    expect(now()).toBe(ms)
    pass(10)
    expect(now()).toBe(ms + 10)
  })

  it('a month ahead goes on from there', () => {
    clock.startFrom(new Date(START + MONTH_MS))
    expect(now()).toBe(MONTH_MS)
    pass(5 * 60_000)
    expect(now()).toBe(MONTH_MS + 5 * 60_000)
  })

  it('that is over lets it be', () => {
    clock.startFrom(new Date(START - 1))
    expect(now()).toBe(0)
  })
})
