/** The ids that requests of one connection have had: a response to an earlier request may still come, or come once more. */
import { randomUUID } from 'node:crypto'
import type { RequestId } from './json-rpc.js'

/** So many are remembered. */
const MOST = 1_000
/** In characters: of longer ones none is remembered. */
const MAX_LENGTH = 64

export class UsedIds {
  readonly #known = new Set<RequestId>()
  #highest = Number.NEGATIVE_INFINITY
  readonly #prefix = `countersign:${randomUUID()}:`
  #given = 0
  readonly #isWhole: boolean

  /** @param isWhole false where there were requests before that nobody has noted */
  constructor(isWhole = true) {
    this.#isWhole = isWhole
  }

  /** Notes that a request has this id. Gives whether none can have had it before; false where nobody remembers. */
  isNew(id: RequestId): boolean {
    if (!this.#isWhole) return false
    const isHigher = typeof id === 'number' && id > this.#highest
    if (isHigher) this.#highest = id
    const isRemembered = this.#known.size < MOST && (typeof id === 'number' || id.length <= MAX_LENGTH)
    const isNew = isHigher || (isRemembered && !this.#known.has(id))
    if (isRemembered) this.#known.add(id)
    return isNew
  }

  /** One that no request of the client has. */
  another(): string {
    this.#given += 1
    return `${this.#prefix}${this.#given}`
  }
}
