import { DomainError } from '../domain-error.js'

/** So much of it is in progress at a time: what it has read and made is held meanwhile. */
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

  /** @param nowMs a clock that never goes back, in milliseconds */
  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /**
   * Does work of an API key when its turn has come.
   *
   * @param waitMs how long it may wait for that; null for as long as it takes
   * @throws DomainError rate_limited when too much of the key waits, or its turn did not come in time: it is not done then
   * @throws what `work` throws
   */
  async run<T>(keyId: string, work: (pause: Pause) => Promise<T>, waitMs: number | null = null): Promise<T> {
    if (this.underWay >= AT_ONCE) await this.place(keyId, waitMs)
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
    let started = this.nowMs()
    return async () => {
      if (this.nowMs() - started < SLICE_MS) return
      await this.turn()
      started = this.nowMs()
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

  private async place(keyId: string, waitMs: number | null): Promise<void> {
    const own = this.waiting.get(keyId) ?? []
    if (own.length >= MAX_WAITING_PER_KEY)
      throw refused(
        `${MAX_WAITING_PER_KEY} long requests of this key (lists, simulations and the like) are already waiting.`,
      )
    this.waiting.set(keyId, own)
    let timer: NodeJS.Timeout | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        own.push(resolve)
        if (waitMs === null) return
        timer = setTimeout(() => {
          this.drop(keyId, resolve)
          reject(refused(`Other lists, simulations and the like were in progress for ${waitMs} ms.`))
        }, waitMs)
      })
    } finally {
      clearTimeout(timer)
    }
  }

  private drop(keyId: string, entry: () => void): void {
    const rest = (this.waiting.get(keyId) ?? []).filter((other) => other !== entry)
    if (rest.length > 0) this.waiting.set(keyId, rest)
    else this.waiting.delete(keyId)
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

function refused(why: string): DomainError {
  return new DomainError('rate_limited', { detail: `${why} Retry in 1 s.`, headers: { 'Retry-After': '1' } })
}
