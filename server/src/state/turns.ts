import { StoreUnavailableError } from '../ports/store.js'

/**
 * Lets work on one thing wait for the work on it before. Callers side by side that move the same decision would else run
 * into one another's condition in the store, and each refused record takes its whole group apart.
 */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>()

  /** @throws what `work` throws; a store that fails one who was before fails all who wait, or their waits would add up. */
  run<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(id) ?? Promise.resolve()
    const mine = before.then(work, (error: unknown) => {
      if (error instanceof StoreUnavailableError) throw error
      return work()
    })
    this.last.set(id, mine)
    const done = (): void => {
      if (this.last.get(id) === mine) this.last.delete(id)
    }
    mine.then(done, done)
    return mine
  }
}
