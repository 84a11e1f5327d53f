import { hashOfText } from '../sha256.js'
import type { AdmitOptions } from './admission.js'
import type { Asked } from './arguments/asked.js'
import { requestHashOf } from './request-hash.js'

/** In characters: the decision point takes over no longer one. */
const MAX_REQUEST_ID = 64

/** A call without an idempotency key: a repeat of it takes up the review that it leaves behind. */
export class RepeatableCall {
  readonly #asked: Asked
  readonly #holder: string
  readonly #variant: string
  #hash: string | undefined

  constructor(asked: Asked, { holder = '', variant = '' }: Pick<AdmitOptions, 'holder' | 'variant'>) {
    this.#asked = asked
    this.#holder = holder
    this.#variant = variant === '' ? 'one' : hashOfText(variant).slice(0, 32)
  }

  get request_hash(): string {
    this.#hash ??= requestHashOf(this.#asked)
    return this.#hash
  }

  /** A call with a holder takes up only reviews of the same holder. */
  get question(): string {
    return `${this.request_hash} ${this.#variant} ${this.#holder}`
  }

  /** For asking: a repeat in another process knows by it what this call has left behind. */
  newRequestId(): string {
    const unique = crypto.randomUUID().replaceAll('-', '')
    return (this.#requestIdStart + unique).slice(0, MAX_REQUEST_ID)
  }

  /** Whether an equal call has asked by this request id, without an idempotency key. */
  isRequestId(request_id: string): boolean {
    return request_id.startsWith(this.#requestIdStart)
  }

  get #requestIdStart(): string {
    return `repeatable-${this.#variant}-`
  }
}
