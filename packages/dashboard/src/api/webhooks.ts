import type {
  Delivery,
  DeliveryStatus,
  Page,
  Replay,
  ReplayStarted,
  Webhook,
  WebhookWithSecret,
  WebhookWrite,
} from '@countersign/contract'
import { call } from './client'
import { once } from './once'

/** A page has room for every webhook. */
const ALL = 200
const PAGE_SIZE = 100

export const listWebhooks = (): Promise<Page<Webhook>> => call('webhooks.list', { query: { limit: ALL } })

export const getWebhook = (id: string): Promise<Webhook> => call('webhooks.get', { params: { id } })

/** A webhook with its secret. The secret is absent when the response was lost and the call was repeated. */
type MaybeWithSecret = Webhook & Partial<Pick<WebhookWithSecret, 'secret'>>

/** @param key of all tries, as `once` takes it; so below */
export const createWebhook = (webhook: WebhookWrite, key: string): Promise<MaybeWithSecret> =>
  call('webhooks.create', { body: webhook, ...once(key) })

export const updateWebhook = (id: string, body: WebhookWrite): Promise<Webhook> =>
  call('webhooks.update', { params: { id }, body })

export const deleteWebhook = (id: string): Promise<void> => call('webhooks.delete', { params: { id } })

export const rotateWebhookSecret = (id: string, grace_seconds: number, key: string): Promise<MaybeWithSecret> =>
  call('webhooks.rotateSecret', { params: { id }, body: { grace_seconds }, ...once(key) })

export const testWebhook = (id: string, key: string): Promise<Delivery> =>
  call('webhooks.test', { params: { id }, body: {}, ...once(key) })

export const replayWebhook = (id: string, span: Replay, key: string): Promise<ReplayStarted> =>
  call('webhooks.replay', { params: { id }, body: span, ...once(key) })

export interface DeliveriesQuery {
  readonly status?: DeliveryStatus | undefined
  readonly cursor?: string | undefined
  readonly limit?: number
}

export const listDeliveries = (
  id: string,
  { limit = PAGE_SIZE, ...query }: DeliveriesQuery,
  signal: AbortSignal,
): Promise<Page<Delivery>> => call('webhooks.deliveries', { params: { id }, query: { limit, ...query }, signal })

export const retryDelivery = (id: string, deliveryId: string, key: string): Promise<Delivery> =>
  call('webhooks.retry', { params: { id, delivery_id: deliveryId }, body: {}, ...once(key) })
