import { StoreUnavailableError } from '@countersign/store-port/store'

/** Lets a few work at a time. Who waits for long is turned away. */
export class Turnstile {
  readonly #waitMs: number
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(places: number, waitMs: number) {
    this.#free = places
    this.#waitMs = waitMs
  }

  /** @throws StoreUnavailableError when no place was free in time */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await this.#wait()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }

  /** Resolves with the place of one who leaves. */
  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(new StoreUnavailableError('Too many lists are read at once.'))
      }, this.#waitMs)
      this.#waiting.push(enter)
    })
  }
}
