import { assertOptions } from '../known-options.js'

/** Remembers ids of deliveries. A store behind it may serve several processes. */
export interface WebhookMemory {
  /**
   * Notes an id until a time (milliseconds since 1970), in one indivisible step. True for the first who notes it, false for
   * everyone after. Throws or rejects when it cannot tell: the delivery is then refused.
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
 * A memory of this process. An id is forgotten when its time is over, and when the process ends.
 *
 * When it is full, the oldest id makes room: its delivery would pass once more until its time is over.
 */
export class SeenWebhooks implements WebhookMemory {
  /** Oldest first, as a Map keeps them. */
  readonly #untilMsOf = new Map<string, number>()
  readonly #max: number
  readonly #now: () => number

  /** @throws TypeError naming the faulty option */
  constructor(options: SeenWebhooksOptions = {}) {
    assertOptions('SeenWebhooks', options, KNOWN_OPTIONS)
    const { max = 100_000, now = Date.now } = options
    if (!Number.isSafeInteger(max) || max < 1) throw new TypeError('max has to be a whole number above 0')
    if (typeof now !== 'function') throw new TypeError('now has to be a function')
    this.#max = max
    this.#now = now
  }

  /** How many ids are held. */
  get size(): number {
    return this.#untilMsOf.size
  }

  add(id: string, untilMs: number): boolean {
    if (this.has(id)) return false
    // Put at the end, even if it is held from before.
    this.#untilMsOf.delete(id)
    this.#dropOldest()
    this.#untilMsOf.set(id, untilMs)
    return true
  }

  /** True while the id is noted. */
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
