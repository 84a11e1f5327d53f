import { hashOfText } from '../../sha256.js'
import type { Asked } from '../asking/asked.js'
import { requestHashOf } from '../asking/request-hash.js'
import type { AdmitOptions } from '../running/admission.js'

/** In characters: the decision point replaces longer ones. */
const MAX_REQUEST_ID = 64

/** A call without an idempotency key: a repeat takes up the review that it leaves behind. */
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

  /** For asking: by this id, a repeat in another process recognizes the review that this call leaves behind. */
  newRequestId(): string {
    const unique = crypto.randomUUID().replaceAll('-', '')
    return (this.#requestIdStart + unique).slice(0, MAX_REQUEST_ID)
  }

  /** Whether an equal call without an idempotency key used this request id. */
  isRequestId(request_id: string): boolean {
    return request_id.startsWith(this.#requestIdStart)
  }

  get #requestIdStart(): string {
    return `repeatable-${this.#variant}-`
  }
}
