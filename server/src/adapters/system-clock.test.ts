import { beforeEach, describe, expect, it } from 'vitest'
import { HELD_MS, STEP_MS, SystemClock } from './system-clock.js'

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

describe('a system clock that goes ahead while the server runs', () => {
  const HOUR_MS = 3_600_000

  it('by 5 minutes is followed', () => {
    system += STEP_MS
    expect(clock.jump()).toBeNull()
    expect(now()).toBe(STEP_MS)
  })

  it('by more is left alone for 15 minutes, to the millisecond, and then believed', () => {
    pass(1000)
    system += STEP_MS + 1
    expect(clock.jump()).toEqual({
      aheadMs: STEP_MS + 1,
      systemTime: new Date(system),
      believedAt: new Date(START + 1000 + HELD_MS),
    })
    expect(now()).toBe(1000)
    pass(HELD_MS - 1)
    expect(clock.jump()).toMatchObject({ believedAt: new Date(START + 1000 + HELD_MS) })
    expect(now()).toBe(1000 + HELD_MS - 1)
    pass(1)
    expect(clock.jump()).toBeNull()
    expect(now()).toBe(1000 + HELD_MS + STEP_MS + 1)
  })

  it('is believed when it is confirmed', () => {
    system += HOUR_MS
    expect(now()).toBe(0)
    pass(1000)
    clock.confirm()
    expect(now()).toBe(HOUR_MS + 1000)
    expect(clock.jump()).toBeNull()
  })

  it('is followed again when it is set right', () => {
    system += HOUR_MS
    expect(now()).toBe(0)
    system -= HOUR_MS
    pass(1000)
    expect(clock.jump()).toBeNull()
    expect(now()).toBe(1000)
    system += HOUR_MS
    pass(HELD_MS - 1)
    expect(now()).toBe(HELD_MS + 999)
  })

  it('and again by more than 5 minutes has to hold again', () => {
    system += HOUR_MS
    expect(now()).toBe(0)
    pass(HELD_MS - 1)
    system += MONTH_MS
    expect(now()).toBe(HELD_MS - 1)
    pass(HELD_MS - 1)
    expect(now()).toBe(2 * HELD_MS - 2)
    pass(1)
    expect(now()).toBe(2 * HELD_MS - 1 + HOUR_MS + MONTH_MS)
  })

  it('from far behind to the right time is followed', () => {
    system -= MONTH_MS
    expect(now()).toBe(0)
    system += MONTH_MS
    pass(1)
    expect(clock.jump()).toBeNull()
    expect(now()).toBe(1)
  })

  it('needs no confirmation otherwise', () => {
    system -= 1000
    clock.confirm()
    expect(now()).toBe(0)
  })
})
