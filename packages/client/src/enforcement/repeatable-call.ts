import type { Asked } from './arguments/asked.js'
import { requestHashOf } from './request-hash.js'

/** A call without an idempotency key: a repeat of it takes up the review that it leaves behind. */
export class RepeatableCall {
  readonly #asked: Asked
  readonly #holder: string | undefined
  #hash: string | undefined

  constructor(asked: Asked, holder: string | undefined) {
    this.#asked = asked
    this.#holder = holder
  }

  get request_hash(): string {
    this.#hash ??= requestHashOf(this.#asked)
    return this.#hash
  }

  /** Who names a holder takes up nobody else's. */
  get question(): string {
    return `${this.request_hash} ${this.#holder ?? ''}`
  }
}
