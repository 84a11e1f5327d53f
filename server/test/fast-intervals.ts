import { vi } from 'vitest'

/** So much passes for the jobs of a server in 20 ms. */
const TICK_MS = 10 * 60_000

/** Time that runs fast for what is done again and again, while answers and waits take what they take. */
export class FastIntervals {
  ticks = 0
  readonly #ticking: NodeJS.Timeout

  constructor() {
    this.#ticking = setInterval(() => {
      vi.advanceTimersByTime(TICK_MS)
      this.ticks += 1
    }, 20)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  }

  stop(): void {
    vi.useRealTimers()
    clearInterval(this.#ticking)
  }
}
