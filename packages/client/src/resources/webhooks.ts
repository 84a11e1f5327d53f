import { nameOf } from '../call.js'
import { WEBHOOK_ENDPOINTS } from '../endpoints.js'
import { answerOf, callOf } from '../operation.js'
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

/** The options of a new secret. */
export interface SecretRotateOptions extends IdempotentCallOptions {
  /** How long deliveries are signed with the old secret too, in seconds. Default: the server's. */
  readonly graceSeconds?: number | undefined
}

export interface DeliveryQuery extends PageQuery {
  readonly status?: DeliveryStatus | undefined
}

/** Manages endpoints that receive events. Source: docs/sdk-methods.md "Webhooks". */
export class Webhooks {
  readonly #requester: Requester

  /** @internal */
  constructor(requester: Requester) {
    this.#requester = requester
  }

  /**
   * Registers an endpoint. `secret` of the answer signs its deliveries, and is shown only this once.
   *
   * @throws ApiError validation_failed (`errors` says why a URL is not allowed), limit_reached
   * @throws UnavailableError when an earlier call with this idempotency key did it: the message says what to do
   */
  async create(webhook: WebhookWrite, options?: IdempotentCallOptions): Promise<WebhookWithSecret> {
    const call = callOf(WEBHOOK_ENDPOINTS['webhooks.create'], { body: webhook, options })
    return withSecret(nameOf(call), await this.#requester.send(call), 'secret')
  }

  /** @throws ApiError not_found */
  async get(id: string, options?: CallOptions): Promise<Webhook> {
    return answerOf(this.#requester, WEBHOOK_ENDPOINTS['webhooks.get'], { params: { id }, options })
  }

  list(query: PageQuery = {}, options?: CallOptions): Pages<Webhook> {
    return pagesOf(this.#requester, WEBHOOK_ENDPOINTS['webhooks.list'], { query, options })
  }

  /** Replaces an endpoint entirely, except for its secret. @throws ApiError not_found, validation_failed */
  async update(id: string, webhook: WebhookWrite, options?: CallOptions): Promise<Webhook> {
    return answerOf(this.#requester, WEBHOOK_ENDPOINTS['webhooks.update'], { params: { id }, body: webhook, options })
  }

  /** Deletes an endpoint, which receives nothing from then on. @throws ApiError not_found */
  async delete(id: string, options?: CallOptions): Promise<void> {
    return answerOf(this.#requester, WEBHOOK_ENDPOINTS['webhooks.delete'], { params: { id }, options })
  }

  /**
   * Gives an endpoint a new secret, which is shown only this once. During the grace period, deliveries are signed with
   * both.
   *
   * @throws ApiError not_found
   * @throws UnavailableError when an earlier call with this idempotency key did it: the message says what to do
   */
  async rotateSecret(id: string, options?: SecretRotateOptions): Promise<WebhookWithSecret> {
    const body = { grace_seconds: options?.graceSeconds }
    const call = callOf(WEBHOOK_ENDPOINTS['webhooks.rotateSecret'], { params: { id }, body, options })
    return withSecret(nameOf(call), await this.#requester.send(call), 'secret')
  }

  /** Sends the event `webhook.test`: the returned delivery has only begun. @throws ApiError not_found */
  async test(id: string, options?: IdempotentCallOptions): Promise<Delivery> {
    return answerOf(this.#requester, WEBHOOK_ENDPOINTS['webhooks.test'], { params: { id }, body: {}, options })
  }

  /**
   * Sends the events of a time span once more; their deliveries appear in the list as they are created. @throws
   * ApiError not_found
   */
  async replay(id: string, span: Replay, options?: IdempotentCallOptions): Promise<ReplayStarted> {
    return answerOf(this.#requester, WEBHOOK_ENDPOINTS['webhooks.replay'], { params: { id }, body: span, options })
  }

  /** Lists the deliveries and their results, newest first. */
  deliveries(id: string, query: DeliveryQuery = {}, options?: CallOptions): Pages<Delivery> {
    return pagesOf(this.#requester, WEBHOOK_ENDPOINTS['webhooks.deliveries'], { params: { id }, query, options })
  }

  /** Attempts a delivery once more, in any state. @throws ApiError not_found */
  async retry(id: string, deliveryId: string, options?: IdempotentCallOptions): Promise<Delivery> {
    return answerOf(this.#requester, WEBHOOK_ENDPOINTS['webhooks.retry'], {
      params: { id, delivery_id: deliveryId },
      body: {},
      options,
    })
  }
}
