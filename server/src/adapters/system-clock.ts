import type { ClockJump, StoreClock } from '../ports/clock.js'

/** The two clocks of a machine, in milliseconds. */
export interface MachineClocks {
  /** Since 1970. It can be set forward or back. */
  systemMs(): number
  /** Since an arbitrary moment. It only moves forward. */
  monotonicMs(): number
}

const MACHINE: MachineClocks = { systemMs: () => Date.now(), monotonicMs: () => performance.now() }

/** A system clock that is further ahead was set, or the machine slept. It is not trusted yet. */
export const STEP_MS = 5 * 60_000
/** A system clock that stays ahead for this long is trusted. */
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
 * The machine's time. It never goes back, so no period opens twice. While the system clock is up to 5 minutes behind,
 * time stands still. When it is further off, time follows the monotonic clock: deadlines still pass, and nothing begins
 * or ends too soon.
 */
export class SystemClock implements StoreClock {
  #ms: number
  #monotonicMs: number
  #jump: Jump | null = null

  constructor(private readonly machine: MachineClocks) {
    this.#ms = machine.systemMs()
    this.#monotonicMs = machine.monotonicMs()
  }

  now(): Date {
    this.#advance()
    return new Date(this.#ms)
  }

  startFrom(earliest: Date): void {
    this.#advance()
    this.#ms = Math.max(this.#ms, earliest.getTime())
  }

  jump(): ClockJump | null {
    this.#advance()
    if (this.#jump === null) return null
    const { aheadMs, sinceMs } = this.#jump
    const leftMs = sinceMs + HELD_MS - this.#monotonicMs
    return { aheadMs, systemTime: new Date(this.#ms + aheadMs), believedAt: new Date(this.#ms + leftMs) }
  }

  confirm(): void {
    this.#advance()
    if (this.#jump !== null) this.#ms = this.machine.systemMs()
    this.#jump = null
  }

  #advance(): void {
    const monotonicMs = this.machine.monotonicMs()
    const expectedMs = this.#ms + monotonicMs - this.#monotonicMs
    this.#monotonicMs = monotonicMs
    const systemMs = this.machine.systemMs()
    const aheadMs = systemMs - expectedMs
    this.#jump = this.#jumpOf(aheadMs)
    const isLeftAlone = this.#jump !== null || aheadMs < -STEP_MS
    this.#ms = isLeftAlone ? expectedMs : Math.max(this.#ms, systemMs)
  }

  /** A second jump must last as long as the first one did before it is trusted. */
  #jumpOf(aheadMs: number): Jump | null {
    if (aheadMs <= STEP_MS) return null
    const last = this.#jump
    if (last === null || Math.abs(aheadMs - last.aheadMs) > STEP_MS) return { aheadMs, sinceMs: this.#monotonicMs }
    return this.#monotonicMs - last.sinceMs < HELD_MS ? last : null
  }
}
