import type { StoreClock } from '../ports/clock.js'

/** The two clocks of a machine, in milliseconds. */
export interface MachineClocks {
  /** Since 1970. It can be set, forward and back. */
  systemMs(): number
  /** Since some moment. It only goes on. */
  monotonicMs(): number
}

const MACHINE: MachineClocks = { systemMs: () => Date.now(), monotonicMs: () => performance.now() }

/** A clock that is further off than this was not steered: it is wrong. */
export const STEP_MS = 5 * 60_000

export function systemClock(): SystemClock {
  return new SystemClock(MACHINE)
}

/**
 * The machine's time, which never goes back, so that no period opens twice. A system clock that is up to 5 minutes behind is
 * waited for. One that is further behind is not: time goes on by the monotonic clock, so that what has an end does end.
 */
export class SystemClock implements StoreClock {
  readonly #machine: MachineClocks
  #ms: number
  #monotonicMs: number

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

  #goOn(): void {
    const monotonicMs = this.#machine.monotonicMs()
    const expectedMs = this.#ms + monotonicMs - this.#monotonicMs
    this.#monotonicMs = monotonicMs
    const systemMs = this.#machine.systemMs()
    const isWrong = expectedMs - systemMs > STEP_MS
    this.#ms = isWrong ? expectedMs : Math.max(this.#ms, systemMs)
  }
}
