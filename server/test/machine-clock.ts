import { SystemClock } from '#server/adapters/system-clock'
import type { ClockJump } from '#server/ports/clock'
import { FROZEN, TestClock } from './running-server.js'

/** The server's own clock on a machine whose clocks the test moves: `advance` moves both, `set` the system clock alone. */
export class MachineClock extends TestClock {
  #systemMs: number
  #monotonicMs = 0
  readonly #clock: SystemClock

  constructor(start: Date = FROZEN) {
    super()
    this.#systemMs = start.getTime()
    this.#clock = new SystemClock({ systemMs: () => this.#systemMs, monotonicMs: () => this.#monotonicMs })
  }

  override now(): Date {
    return this.#clock.now()
  }
  override startFrom(earliest: Date): void {
    this.#clock.startFrom(earliest)
  }
  override jump(): ClockJump | null {
    return this.#clock.jump()
  }
  override confirm(): void {
    this.#clock.confirm()
  }
  override advance(ms: number): void {
    this.#systemMs += ms
    this.#monotonicMs += ms
  }
  override set(date: Date): void {
    this.#systemMs = date.getTime()
  }
}
