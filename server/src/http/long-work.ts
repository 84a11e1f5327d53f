import { DomainError } from '../domain-error.js'

/** So much of it is under way at a time: what it has read and made is held meanwhile. */
const AT_ONCE = 4
/** So much of one API key may wait. */
const MAX_WAITING_PER_KEY = 100
/** How long it keeps the event loop at a time, where it can pause. */
const SLICE_MS = 1

/** Awaited in the middle of long work: answers at once, or when others had their turn. */
export type Pause = () => Promise<void>

/**
 * Work that may take long: lists, simulations and the like. However many ask for some, each turn of the event loop does one
 * piece of it, so that decisions go on beside it; and the API keys that ask take turns.
 */
export class LongWork {
  private underWay = 0
  /** What waits, by API key; the key that is next is the first. */
  private readonly waiting = new Map<string, (() => void)[]>()
  private readonly paused: (() => void)[] = []

  /**
   * Does work of an API key when its turn has come.
   *
   * @throws DomainError rate_limited when too much of the key waits
   * @throws what `work` throws
   */
  async run<T>(keyId: string, work: (pause: Pause) => Promise<T>): Promise<T> {
    if (this.underWay >= AT_ONCE) await this.place(keyId)
    else this.underWay += 1
    try {
      await this.turn()
      return await work(this.pauses())
    } finally {
      this.leave()
    }
  }

  /** The pause of work that begins now: it lets others have their turn once the work has had its slice. */
  pauses(): Pause {
    let started = performance.now()
    return async () => {
      if (performance.now() - started < SLICE_MS) return
      await this.turn()
      started = performance.now()
    }
  }

  /** Resolves in a turn of the event loop that does nothing else of this. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.paused.push(resolve)
      if (this.paused.length === 1) setImmediate(this.wake)
    })
  }

  private readonly wake = (): void => {
    this.paused.shift()?.()
    if (this.paused.length > 0) setImmediate(this.wake)
  }

  private place(keyId: string): Promise<void> {
    const own = this.waiting.get(keyId) ?? []
    if (own.length >= MAX_WAITING_PER_KEY)
      throw new DomainError('rate_limited', {
        detail: `${MAX_WAITING_PER_KEY} lists, simulations and the like of this key wait already. Ask again in 1 s.`,
        headers: { 'Retry-After': '1' },
      })
    this.waiting.set(keyId, own)
    return new Promise((resolve) => own.push(resolve))
  }

  /** The place goes to the next key, which is then the last. */
  private leave(): void {
    const [next] = this.waiting
    if (next === undefined) {
      this.underWay -= 1
      return
    }
    const [keyId, [first, ...rest]] = next
    this.waiting.delete(keyId)
    if (rest.length > 0) this.waiting.set(keyId, rest)
    first?.()
  }
}
