import { nameOf } from '../call.js'
import { KEY_ENDPOINTS } from '../endpoints.js'
import { answerOf, callOf } from '../operation.js'
import type { CallOptions, IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import { withSecret } from '../shown-once.js'
import type { ApiKey, ApiKeyWithSecret, KeyCreate } from '../wire.js'

/** The options of a rotation. */
export interface KeyRotateOptions extends IdempotentCallOptions {
  /** How long the old secret stays valid, 0 to 604,800 seconds. Default: 86,400, a day. */
  readonly graceSeconds?: number | undefined
}

/** Source: docs/sdk-methods.md "Keys". */
export class Keys {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /**
   * Creates an API key. `key` of the answer is the secret, which is shown only this once.
   *
   * @throws ApiError validation_failed, key_too_wide, limit_reached
   * @throws UnavailableError when an earlier call with this idempotency key created it: the message says what to do
   */
  async create(key: KeyCreate, options?: IdempotentCallOptions): Promise<ApiKeyWithSecret> {
    const call = callOf(KEY_ENDPOINTS['keys.create'], { body: key, options })
    return withSecret(nameOf(call), await this.#requester.send(call), 'key')
  }

  /** @throws ApiError not_found */
  async get(id: string, options?: CallOptions): Promise<ApiKey> {
    return answerOf(this.#requester, KEY_ENDPOINTS['keys.get'], { params: { id }, options })
  }

  /** Returns the key that this client uses; needs no scope. */
  async self(options?: CallOptions): Promise<ApiKey> {
    return answerOf(this.#requester, KEY_ENDPOINTS['keys.self'], { options })
  }

  list(query: PageQuery = {}, options?: CallOptions): Pages<ApiKey> {
    return pagesOf(this.#requester, KEY_ENDPOINTS['keys.list'], { query, options })
  }

  /**
   * Gives a key a new secret, which is shown only this once; the old one stays valid for the grace period. Allowed for
   * the key itself, for its creators, direct or not, and for a `*` key.
   *
   * @throws ApiError not_found, key_too_wide, not_own_key, limit_reached
   * @throws UnavailableError when an earlier call with this idempotency key did it: the message says what to do
   */
  async rotate(id: string, options?: KeyRotateOptions): Promise<ApiKeyWithSecret> {
    const body = { grace_seconds: options?.graceSeconds }
    const call = callOf(KEY_ENDPOINTS['keys.rotate'], { params: { id }, body, options })
    return withSecret(nameOf(call), await this.#requester.send(call), 'key')
  }

  /**
   * Revokes a key permanently. Revoking it again is not an error. @throws ApiError not_found, key_too_wide,
   * last_admin_key
   */
  async revoke(id: string, options?: CallOptions): Promise<void> {
    return answerOf(this.#requester, KEY_ENDPOINTS['keys.revoke'], { params: { id }, options })
  }
}
