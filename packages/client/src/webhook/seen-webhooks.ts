import { knownOptions } from '../known-options.js'

/** Remembers ids of deliveries. A store can share them among several processes. */
export interface WebhookMemory {
  /**
   * Records an id until a time (milliseconds since 1970), atomically. True for the first caller that records it, false
   * for all later ones. Throws or rejects when it cannot tell: the delivery is then refused.
   */
  add(id: string, untilMs: number): boolean | Promise<boolean>
}

export interface SeenWebhooksOptions {
  /** How many ids are remembered at once; default 100,000 (about 10 MB when full). */
  readonly max?: number | undefined
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined
}

const KNOWN_OPTIONS = ['max', 'now'] as const satisfies readonly (keyof SeenWebhooksOptions)[]

/**
 * A memory of this process. It forgets an id when its time is over, and all ids when the process ends.
 *
 * When it is full, it drops the oldest id: the delivery of that id would pass once more until its time is over.
 */
export class SeenWebhooks implements WebhookMemory {
  /** Oldest first, the order of a Map. */
  readonly #untilMsOf = new Map<string, number>()
  readonly #max: number
  readonly #now: () => number

  /** @throws TypeError naming the faulty option */
  constructor(options: SeenWebhooksOptions = {}) {
    const { max = 100_000, now = Date.now } = knownOptions('SeenWebhooks', options, KNOWN_OPTIONS)
    if (!Number.isSafeInteger(max) || max < 1) throw new TypeError('max must be a whole number above 0')
    if (typeof now !== 'function') throw new TypeError('now must be a function')
    this.#max = max
    this.#now = now
  }

  /** The number of ids in memory. */
  get size(): number {
    return this.#untilMsOf.size
  }

  add(id: string, untilMs: number): boolean {
    if (this.has(id)) return false
    // Moves the id to the end, even if it was recorded before.
    this.#untilMsOf.delete(id)
    this.#dropOldest()
    this.#untilMsOf.set(id, untilMs)
    return true
  }

  /** True while the id is recorded. */
  has(id: string): boolean {
    return (this.#untilMsOf.get(id) ?? Number.NEGATIVE_INFINITY) > this.#now()
  }

  #dropOldest(): void {
    const nowMs = this.#now()
    for (const [id, untilMs] of this.#untilMsOf) {
      if (untilMs > nowMs && this.#untilMsOf.size < this.#max) return
      this.#untilMsOf.delete(id)
    }
  }
}
