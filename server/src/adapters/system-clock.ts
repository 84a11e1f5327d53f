import type { ClockJump, StoreClock } from '../ports/clock.js'

/** The two clocks of a machine, in milliseconds. */
export interface MachineClocks {
  /** Since 1970. It can be set, forward and back. */
  systemMs(): number
  /** Since some moment. It only goes on. */
  monotonicMs(): number
}

const MACHINE: MachineClocks = { systemMs: () => Date.now(), monotonicMs: () => performance.now() }

/** A system clock that is further off than this was set, or its machine slept: it is not believed at once. */
export const STEP_MS = 5 * 60_000
/** A system clock that stays ahead for so long is believed. */
export const HELD_MS = 15 * 60_000

interface Jump {
  readonly aheadMs: number
  /** By the monotonic clock. */
  readonly sinceMs: number
}

export function systemClock(): SystemClock {
  return new SystemClock(MACHINE)
}

/**
 * The machine's time, which never goes back, so that no period opens twice. A system clock that is up to 5 minutes behind is
 * waited for. While it is further off, time goes on by the monotonic clock: what has an end does end, and nothing ends or
 * begins too soon.
 */
export class SystemClock implements StoreClock {
  readonly #machine: MachineClocks
  #ms: number
  #monotonicMs: number
  #jump: Jump | null = null

  constructor(machine: MachineClocks) {
    this.#machine = machine
    this.#ms = machine.systemMs()
    this.#monotonicMs = machine.monotonicMs()
  }

  now(): Date {
    this.#goOn()
    return new Date(this.#ms)
  }

  startFrom(earliest: Date): void {
    this.#goOn()
    this.#ms = Math.max(this.#ms, earliest.getTime())
  }

  jump(): ClockJump | null {
    this.#goOn()
    if (this.#jump === null) return null
    const { aheadMs, sinceMs } = this.#jump
    const leftMs = sinceMs + HELD_MS - this.#monotonicMs
    return { aheadMs, systemTime: new Date(this.#ms + aheadMs), believedAt: new Date(this.#ms + leftMs) }
  }

  confirm(): void {
    this.#goOn()
    if (this.#jump !== null) this.#ms = this.#machine.systemMs()
    this.#jump = null
  }

  #goOn(): void {
    const monotonicMs = this.#machine.monotonicMs()
    const expectedMs = this.#ms + monotonicMs - this.#monotonicMs
    this.#monotonicMs = monotonicMs
    const systemMs = this.#machine.systemMs()
    const aheadMs = systemMs - expectedMs
    this.#jump = this.#doubted(aheadMs)
    const isLeftAlone = this.#jump !== null || aheadMs < -STEP_MS
    this.#ms = isLeftAlone ? expectedMs : Math.max(this.#ms, systemMs)
  }

  /** A jump upon a jump has to hold as long as the first one. */
  #doubted(aheadMs: number): Jump | null {
    if (aheadMs <= STEP_MS) return null
    const last = this.#jump
    if (last === null || Math.abs(aheadMs - last.aheadMs) > STEP_MS) return { aheadMs, sinceMs: this.#monotonicMs }
    return this.#monotonicMs - last.sinceMs < HELD_MS ? last : null
  }
}
