import { path } from '../call.js'
import type { CallOptions, IdempotentCallOptions } from '../options.js'
import { type PageQuery, type Pages, pagesOf } from '../pages.js'
import type { Requester } from '../requester.js'
import { withSecret } from '../shown-once.js'
import type {
  Delivery,
  DeliveryStatus,
  Replay,
  ReplayStarted,
  Webhook,
  WebhookWithSecret,
  WebhookWrite,
} from '../wire.js'

/** For a new secret. */
export interface SecretRotateOptions extends IdempotentCallOptions {
  /** How long deliveries are signed with the old secret too, in seconds. Default: the server's. */
  readonly graceSeconds?: number | undefined
}

export interface DeliveryQuery extends PageQuery {
  readonly status?: DeliveryStatus | undefined
}

/** Endpoints that get events. Source: docs/sdk.md "Webhooks". */
export class Webhooks {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /**
   * Registers an endpoint. `secret` of the answer signs its deliveries, and is shown this once.
   *
   * @throws ApiError validation_failed (`errors` says why a URL is not allowed), limit_reached
   * @throws UnavailableError when an earlier call with this idempotency key did it: the message says what to do
   */
  async create(webhook: WebhookWrite, options?: IdempotentCallOptions): Promise<WebhookWithSecret> {
    return withSecret('POST /v1/webhooks', await this.#post('/v1/webhooks', webhook, options), 'secret')
  }

  /** @throws ApiError not_found */
  async get(id: string, options?: CallOptions): Promise<Webhook> {
    return (await this.#requester.send({ method: 'GET', path: path`/v1/webhooks/${id}`, options })) as Webhook
  }

  list(query: PageQuery = {}, options?: CallOptions): Pages<Webhook> {
    return pagesOf(this.#requester, '/v1/webhooks', { ...query }, options)
  }

  /** Replaces the whole endpoint, apart from its secret. @throws ApiError not_found, validation_failed */
  async update(id: string, webhook: WebhookWrite, options?: CallOptions): Promise<Webhook> {
    return (await this.#requester.send({
      method: 'PUT',
      path: path`/v1/webhooks/${id}`,
      body: webhook,
      options,
    })) as Webhook
  }

  /** Nothing is sent to it any more. @throws ApiError not_found */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#requester.send({ method: 'DELETE', path: path`/v1/webhooks/${id}`, options })
  }

  /**
   * Gives an endpoint a new secret, shown this once. For the grace, deliveries are signed with both.
   *
   * @throws ApiError not_found
   * @throws UnavailableError when an earlier call with this idempotency key did it: the message says what to do
   */
  async rotateSecret(id: string, options?: SecretRotateOptions): Promise<WebhookWithSecret> {
    const call = path`/v1/webhooks/${id}/rotate-secret`
    const answer = await this.#post(call, { grace_seconds: options?.graceSeconds }, options)
    return withSecret(`POST ${call}`, answer, 'secret')
  }

  /** Sends the event `webhook.test`: the delivery that is returned has only begun. @throws ApiError not_found */
  async test(id: string, options?: IdempotentCallOptions): Promise<Delivery> {
    return (await this.#post(path`/v1/webhooks/${id}/test`, {}, options)) as Delivery
  }

  /** Sends the events of a time span once more; the deliveries come into the list as they are made. @throws ApiError not_found */
  async replay(id: string, span: Replay, options?: IdempotentCallOptions): Promise<ReplayStarted> {
    return (await this.#post(path`/v1/webhooks/${id}/replay`, span, options)) as ReplayStarted
  }

  /** What was sent, and what became of it, newest first. */
  deliveries(id: string, query: DeliveryQuery = {}, options?: CallOptions): Pages<Delivery> {
    return pagesOf(this.#requester, path`/v1/webhooks/${id}/deliveries`, { ...query }, options)
  }

  /** Attempts a delivery once more, whatever became of it. @throws ApiError not_found */
  async retry(id: string, deliveryId: string, options?: IdempotentCallOptions): Promise<Delivery> {
    return (await this.#post(path`/v1/webhooks/${id}/deliveries/${deliveryId}/retry`, {}, options)) as Delivery
  }

  #post(to: string, body: object, options: IdempotentCallOptions | undefined): Promise<unknown> {
    const idempotencyKey = options?.idempotencyKey ?? true
    return this.#requester.send({ method: 'POST', path: to, body, idempotencyKey, options })
  }
}
