import { path } from '../call.js'
import type { CallOptions, IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import { withSecret } from '../shown-once.js'
import type { ApiKey, ApiKeyWithSecret, KeyCreate } from '../wire.js'

/** For a rotation. */
export interface KeyRotateOptions extends IdempotentCallOptions {
  /** How long the old secret lives on, 0 to 604,800 seconds. Default: 86,400, a day. */
  readonly graceSeconds?: number | undefined
}

/** Source: docs/sdk.md "Keys". */
export class Keys {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /**
   * Makes an API key. `key` of the answer is the secret, shown this once.
   *
   * @throws ApiError validation_failed, key_too_wide, limit_reached
   * @throws UnavailableError when an earlier call with this idempotency key made it: the message says what to do
   */
  async create(key: KeyCreate, options?: IdempotentCallOptions): Promise<ApiKeyWithSecret> {
    const idempotencyKey = options?.idempotencyKey ?? true
    const call = { method: 'POST', path: '/v1/keys', body: key, idempotencyKey, options } as const
    return withSecret('POST /v1/keys', await this.#requester.send(call), 'key')
  }

  /** @throws ApiError not_found */
  async get(id: string, options?: CallOptions): Promise<ApiKey> {
    return (await this.#requester.send({ method: 'GET', path: path`/v1/keys/${id}`, options })) as ApiKey
  }

  /** The key that this client uses; needs no scope. */
  async self(options?: CallOptions): Promise<ApiKey> {
    return (await this.#requester.send({ method: 'GET', path: '/v1/keys/self', options })) as ApiKey
  }

  list(query: PageQuery = {}, options?: CallOptions): Pages<ApiKey> {
    return pagesOf(this.#requester, '/v1/keys', { ...query }, options)
  }

  /**
   * Gives a key a new secret, shown this once; the old one lives on for the grace. For the key itself, for a key that created
   * it or created one above it, and for a `*` key.
   *
   * @throws ApiError not_found, key_too_wide, not_own_key, limit_reached
   * @throws UnavailableError when an earlier call with this idempotency key did it: the message says what to do
   */
  async rotate(id: string, options?: KeyRotateOptions): Promise<ApiKeyWithSecret> {
    const call = path`/v1/keys/${id}/rotate`
    const answer = await this.#requester.send({
      method: 'POST',
      path: call,
      body: { grace_seconds: options?.graceSeconds },
      idempotencyKey: options?.idempotencyKey ?? true,
      options,
    })
    return withSecret(`POST ${call}`, answer, 'key')
  }

  /** Revokes a key for good. Revoking it again is not an error. @throws ApiError not_found, key_too_wide, last_admin_key */
  async revoke(id: string, options?: CallOptions): Promise<void> {
    await this.#requester.send({ method: 'DELETE', path: path`/v1/keys/${id}`, options })
  }
}
