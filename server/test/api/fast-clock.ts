import { TestClock } from '../running-server.js'

/** The feed looks for what is due once a second by this clock: in a twentieth of that. */
export class FastClock extends TestClock {
  readonly #startMs = performance.now()

  override now(): Date {
    return new Date(super.now().getTime() + 20 * (performance.now() - this.#startMs))
  }
}
