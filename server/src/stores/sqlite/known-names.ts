import type { IdempotencyName } from '../../ports/store/idempotency.js'
import type { Page } from '../../ports/store/page.js'

/** The names in the database. */
export interface StoredNames {
  /** Resolves when each name that was added before this call is in the database, or will never be. */
  settled(): Promise<unknown>
  /** Reads a page of them, in the order in which they were written. */
  read(after: string | null): Promise<Page<IdempotencyName>>
}

export interface KnownNamesOptions {
  /** How many names it holds: a power of two. */
  readonly capacity: number
  /** The pause between two pages. */
  readonly pageEveryMs: number
  /** The wait after too many names, or after a read that failed. */
  readonly retryMs: number
}

const DEFAULTS: KnownNamesOptions = { capacity: 2 ** 21, pageEveryMs: 20, retryMs: 60 * 60 * 1000 }

/** With 16 bits for each name and four of them set, one name in 400 that is new does not look new when it is full. */
const BITS_PER_NAME = 16
const BITS_SET = 4

/**
 * Knows which idempotency names are certainly in no record, so that the database need not be read for a new call. It is
 * a Bloom filter of all names in the database: only this process writes there, it adds each name before it is written,
 * and reads those of earlier processes in the background. Until they are all read, and when they are too many, no name
 * is certainly new. Names are only added, so when it is full it begins again, without those that were removed since.
 */
export class KnownNames {
  readonly #options: KnownNamesOptions
  #bits = new Uint32Array()
  #count = 0
  #state: 'unread' | 'reading' | 'complete' | 'full' | 'closed' = 'unread'
  #timer: NodeJS.Timeout | undefined

  constructor(
    private readonly stored: StoredNames,
    options: Partial<KnownNamesOptions> = {},
  ) {
    this.#options = { ...DEFAULTS, ...options }
  }

  /** Call this before a record with this name may reach the database. */
  add(name: IdempotencyName): void {
    if (this.#state !== 'complete' && this.#state !== 'reading') return
    const [first, step] = hashesOf(name)
    for (let i = 0; i < BITS_SET; i += 1) {
      const bit = this.#bitAt(first, step, i)
      this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] as number) | (1 << (bit & 31))
    }
    this.#count += 1
    if (this.#count <= this.#options.capacity) return
    if (this.#state === 'reading') this.#giveUp()
    else {
      this.#begin()
      this.add(name)
    }
  }

  /** False when the database may have a record of this name. The first call begins to read the names. */
  isCertainlyNew(name: IdempotencyName): boolean {
    if (this.#state === 'unread') this.#begin()
    if (this.#state !== 'complete') return false
    const [first, step] = hashesOf(name)
    for (let i = 0; i < BITS_SET; i += 1) {
      const bit = this.#bitAt(first, step, i)
      if (((this.#bits[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return true
    }
    return false
  }

  close(): void {
    this.#state = 'closed'
    clearTimeout(this.#timer)
  }

  #begin(): void {
    this.#bits = new Uint32Array((this.#options.capacity * BITS_PER_NAME) / 32)
    this.#count = 0
    this.#state = 'reading'
    this.#later(this.#options.pageEveryMs, async () => {
      await this.stored.settled()
      await this.#readFrom(null)
    })
  }

  async #readFrom(after: string | null): Promise<void> {
    const { items, next } = await this.stored.read(after)
    for (const name of items) this.add(name)
    if (this.#state !== 'reading') return
    if (next === null) this.#state = 'complete'
    else this.#later(this.#options.pageEveryMs, () => this.#readFrom(next))
  }

  /** There are too many names, or they cannot be read. */
  #giveUp(): void {
    this.#state = 'full'
    this.#bits = new Uint32Array()
    this.#later(this.#options.retryMs, async () => this.#begin())
  }

  #later(ms: number, run: () => Promise<void>): void {
    clearTimeout(this.#timer)
    const orGiveUp = () => {
      if (this.#state === 'reading') this.#giveUp()
    }
    this.#timer = setTimeout(() => void run().catch(orGiveUp), ms).unref()
  }

  #bitAt(first: number, step: number, i: number): number {
    return (first + Math.imul(i, step)) & (this.#options.capacity * BITS_PER_NAME - 1)
  }
}

/** Two hashes of a name. Names that were made to collide only cost a look into the database. */
function hashesOf({ key_id, operation, key }: IdempotencyName): readonly [first: number, step: number] {
  let first = 0x811c9dc5
  let step = 0x9747b28c
  for (const part of [key_id, operation, key]) {
    for (let i = 0; i < part.length; i += 1) {
      const code = part.charCodeAt(i)
      first = Math.imul(first ^ code, 0x01000193)
      step = Math.imul(step ^ code, 0x5bd1e995)
    }
    // Where one part ends and the next begins matters.
    first = Math.imul(first ^ 0xffff, 0x01000193)
    step = Math.imul(step ^ 0xffff, 0x5bd1e995)
  }
  return [mixed(first), mixed(step) | 1]
}

/** Lets each bit of the hash depend on all of them. */
function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
