import { withDeadline } from '@countersign/concurrency'
import { DomainError } from '../domain-error.js'

/** How many tasks are in progress at a time. Each one holds in memory what it has read and made. */
const MAX_CONCURRENT = 4
/** How many tasks of one API key may wait. */
const MAX_WAITING_PER_KEY = 100
/** How long a task may block the event loop between two pauses. */
const SLICE_MS = 1

/** Awaited in the middle of long work. Resolves at once, or after others had their turn. */
export type Pause = () => Promise<void>

/**
 * Schedules work that may take long: lists, simulations and the like. Each turn of the event loop does one piece of it, so
 * that decisions are not delayed. API keys take turns, so that none can keep the others waiting.
 */
export class LongWork {
  private inProgress = 0
  /** Waiting tasks by API key. The first key is next. */
  private readonly waiting = new Map<string, (() => void)[]>()
  private readonly paused: (() => void)[] = []

  /** @param nowMs a monotonic clock, in milliseconds */
  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /**
   * Runs work of an API key when it is the key's turn.
   *
   * @param waitMs how long it may wait for its turn; null for no limit
   * @throws DomainError rate_limited when too many tasks of the key wait, or its turn does not come in time
   * @throws what `work` throws
   */
  async run<T>(keyId: string, work: (pause: Pause) => Promise<T>, waitMs: number | null = null): Promise<T> {
    if (this.inProgress >= MAX_CONCURRENT) await this.waitForSlot(keyId, waitMs)
    else this.inProgress += 1
    try {
      await this.turn()
      return await work(this.pauses())
    } finally {
      this.leave()
    }
  }

  /** A pause for work that begins now. It gives others a turn whenever the work has used up its time slice. */
  pauses(): Pause {
    let started = this.nowMs()
    return async () => {
      if (this.nowMs() - started < SLICE_MS) return
      await this.turn()
      started = this.nowMs()
    }
  }

  /** Resolves in a turn of the event loop in which no other long work runs. */
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

  private async waitForSlot(keyId: string, waitMs: number | null): Promise<void> {
    const own = this.waiting.get(keyId) ?? []
    if (own.length >= MAX_WAITING_PER_KEY)
      throw rateLimited(
        `${MAX_WAITING_PER_KEY} long requests of this key (lists, simulations and the like) are already waiting.`,
      )
    this.waiting.set(keyId, own)
    let enter = (): void => {}
    const slot = new Promise<void>((resolve) => {
      enter = resolve
    })
    own.push(enter)
    if (waitMs === null) return slot
    await withDeadline(slot, waitMs, () => {
      this.drop(keyId, enter)
      return rateLimited(`Other lists, simulations and the like were in progress for ${waitMs} ms.`)
    })
  }

  private drop(keyId: string, entry: () => void): void {
    const rest = (this.waiting.get(keyId) ?? []).filter((other) => other !== entry)
    if (rest.length > 0) this.waiting.set(keyId, rest)
    else this.waiting.delete(keyId)
  }

  /** The slot goes to the next key, which then becomes the last. */
  private leave(): void {
    const [next] = this.waiting
    if (next === undefined) {
      this.inProgress -= 1
      return
    }
    const [keyId, [first, ...rest]] = next
    this.waiting.delete(keyId)
    if (rest.length > 0) this.waiting.set(keyId, rest)
    first?.()
  }
}

function rateLimited(why: string): DomainError {
  return new DomainError('rate_limited', { detail: `${why} Retry in 1 s.`, headers: { 'Retry-After': '1' } })
}
