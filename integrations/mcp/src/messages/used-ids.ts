/** The ids that requests of one connection have used. The response to an earlier request may still arrive, or arrive again. */
import { createHash, randomUUID } from 'node:crypto'
import type { RequestId } from './json-rpc.js'

/** The number of ids that are remembered, newest first. */
const MOST = 1_000
/** In characters. A longer id is remembered by its hash. */
const MAX_LENGTH = 64

export class UsedIds {
  readonly #known = new Set<RequestId>()
  /** The types of ids that were forgotten. */
  readonly #forgotten = new Set<string>()
  #highest = Number.NEGATIVE_INFINITY
  readonly #prefix = `countersign:${randomUUID()}:`
  #given = 0

  /** @param isWhole false if earlier requests are unknown */
  constructor(private readonly isWhole = true) {}

  /** Notes the id of a request. Returns true only if no earlier request can have used it. */
  isNew(id: RequestId): boolean {
    if (!this.isWhole) return false
    const isHigher = typeof id === 'number' && id > this.#highest
    if (isHigher) this.#highest = id
    const isNew = isHigher || (!this.#forgotten.has(typeof id) && !this.#known.has(remembered(id)))
    this.#remember(remembered(id))
    return isNew
  }

  /** Whether one of the newest requests has used this id, so that its response may arrive again. */
  hasHad(id: RequestId): boolean {
    return !this.isWhole || this.#known.has(remembered(id))
  }

  /** A new id that no request of the client uses. */
  another(): string {
    this.#given += 1
    return `${this.#prefix}${this.#given}`
  }

  #remember(id: RequestId): void {
    this.#known.delete(id)
    this.#known.add(id)
    const [oldest] = this.#known
    if (oldest === undefined || this.#known.size <= MOST) return
    this.#known.delete(oldest)
    this.#forgotten.add(typeof oldest)
  }
}

function remembered(id: RequestId): RequestId {
  return typeof id === 'number' || id.length <= MAX_LENGTH ? id : createHash('sha256').update(id).digest('hex')
}
