import { StoreUnavailableError } from '@countersign/store-port/store'

/** More than so many moves of one thing at a time are no honest use. */
const MAX_WAITING = 1000

/**
 * Lets work on one thing wait for the work on it before. Callers side by side that move the same decision would else run
 * into one another's condition in the store, and each refused record takes its whole group apart.
 */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>()
  private readonly waiting = new Map<string, number>()
  private readonly next = new Map<string, Promise<unknown>>()

  /**
   * @throws StoreUnavailableError when too many wait already
   * @throws what `work` throws; a store that fails one who was before fails all who wait, or their waits would add up
   */
  run<T>(id: string, work: () => Promise<T>): Promise<T> {
    const waiting = this.waiting.get(id) ?? 0
    if (waiting >= MAX_WAITING) return Promise.reject(new StoreUnavailableError('Too many wait to move this.'))
    this.waiting.set(id, waiting + 1)
    const before = this.last.get(id) ?? Promise.resolve()
    const mine = before.then(work, (error: unknown) => {
      if (error instanceof StoreUnavailableError) throw error
      return work()
    })
    this.last.set(id, mine)
    const done = (): void => {
      const left = (this.waiting.get(id) ?? 1) - 1
      if (left === 0) this.waiting.delete(id)
      else this.waiting.set(id, left)
      if (this.last.get(id) === mine) this.last.delete(id)
    }
    mine.then(done, done)
    return mine
  }

  /** The same for work that does as well for all who ask before it begins: they share one run. */
  join<T>(id: string, work: () => Promise<T>): Promise<T> {
    const waiting = this.next.get(id)
    if (waiting !== undefined) return waiting as Promise<T>
    const begun = (): void => void this.next.delete(id)
    const mine = this.run(id, () => {
      begun()
      return work()
    })
    this.next.set(id, mine)
    mine.catch(begun)
    return mine
  }
}
