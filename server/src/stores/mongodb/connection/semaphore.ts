import { StoreUnavailableError } from '../../../ports/store/errors.js'

/** Runs at most `free` tasks at a time. Refuses a task that waits too long for its turn. */
export class Semaphore {
  readonly #waiting: (() => void)[] = []

  constructor(
    private free: number,
    private readonly waitMs: number,
  ) {}

  /** @throws StoreUnavailableError when the turn did not come in time */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1
    else await this.#turn()
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.free += 1
      else next()
    }
  }

  /** Resolves when another task ends and passes its turn on. */
  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(new StoreUnavailableError('Too many lists are being read at the same time.'))
      }, this.waitMs)
      this.#waiting.push(enter)
    })
  }
}
