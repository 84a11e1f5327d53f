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
import { call, get, post } from './client'
import { once } from './once'

/** There are fewer webhooks than a page has room for. */
const ALL = 200
const PAGE_SIZE = 100

const pathOf = (id: string) => `/webhooks/${encodeURIComponent(id)}`

export const listWebhooks = (): Promise<Page<Webhook>> => get('/webhooks', { query: { limit: ALL } })

export const getWebhook = (id: string): Promise<Webhook> => get(pathOf(id))

/** A webhook with its secret; without, when the answer that had it was lost and the call was repeated. */
type MaybeWithSecret = Webhook & Partial<Pick<WebhookWithSecret, 'secret'>>

/** @param key of all tries, as `once` takes it; so below */
export const createWebhook = (webhook: WebhookWrite, key: string): Promise<MaybeWithSecret> =>
  post('/webhooks', webhook, once(key))

export const updateWebhook = (id: string, body: WebhookWrite): Promise<Webhook> => call('PUT', pathOf(id), { body })

export const deleteWebhook = (id: string): Promise<void> => call('DELETE', pathOf(id))

export const rotateWebhookSecret = (id: string, grace_seconds: number, key: string): Promise<MaybeWithSecret> =>
  post(`${pathOf(id)}/rotate-secret`, { grace_seconds }, once(key))

export const testWebhook = (id: string, key: string): Promise<Delivery> => post(`${pathOf(id)}/test`, {}, once(key))

export const replayWebhook = (id: string, span: Replay, key: string): Promise<ReplayStarted> =>
  post(`${pathOf(id)}/replay`, span, once(key))

export interface DeliveriesQuery {
  readonly status?: DeliveryStatus | undefined
  readonly cursor?: string | undefined
  readonly limit?: number
}

export const listDeliveries = (
  id: string,
  { limit = PAGE_SIZE, ...query }: DeliveriesQuery,
  signal: AbortSignal,
): Promise<Page<Delivery>> => get(`${pathOf(id)}/deliveries`, { query: { limit, ...query }, signal })

export const retryDelivery = (id: string, deliveryId: string, key: string): Promise<Delivery> =>
  post(`${pathOf(id)}/deliveries/${encodeURIComponent(deliveryId)}/retry`, {}, once(key))
